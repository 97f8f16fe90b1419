package show

import (
	"bytes"
	"io"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

// itemWriter prints a list as Console.Structured would, one item at a time.
type itemWriter struct {
	out    io.Writer
	output string
	items  int
}

type itemList = view.List[any]

// frame returns what stands around the items of a list.
func (w *itemWriter) frame() (head, between, tail string) {
	if w.output == "yaml" {
		return "items:\n", "", ""
	}
	return "{\n  \"items\": [\n", ",\n", "\n  ]\n}\n"
}

func (w *itemWriter) add(item any) error {
	text, err := console.Encode(w.output, itemList{Items: []any{item}})
	if err != nil {
		return err
	}
	head, between, tail := w.frame()
	if single, isJSON := bytes.CutPrefix(text, []byte(`{"items":[`)); isJSON { // what YAML cannot say otherwise
		text = []byte(head + "- " + string(bytes.TrimSuffix(single, []byte("]}\n"))) + "\n")
	}
	text = bytes.TrimSuffix(text, []byte(tail))
	if w.items > 0 {
		text = append([]byte(between), bytes.TrimPrefix(text, []byte(head))...)
	}
	w.items++
	_, err = w.out.Write(text)
	return err
}

// end prints what is behind the last item.
func (w *itemWriter) end() error {
	_, _, tail := w.frame()
	text := []byte(tail)
	if w.items == 0 {
		text, _ = console.Encode(w.output, itemList{Items: []any{}})
	}
	_, err := w.out.Write(text)
	return err
}
