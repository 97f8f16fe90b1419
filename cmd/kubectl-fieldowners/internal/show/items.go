package show

import (
	"bytes"
	"encoding/json"
	"io"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
)

// itemWriter prints a list as Console.Structured would, one item at a time.
type itemWriter struct {
	out    io.Writer
	output string
	items  int
}

func (w *itemWriter) add(item any) error {
	text, err := w.text(item)
	if err == nil {
		_, err = w.out.Write(text)
	}
	w.items++
	return err
}

func (w *itemWriter) text(item any) ([]byte, error) {
	if w.output == "yaml" {
		return w.yaml(item)
	}
	encoded, err := ownerview.JSON(item)
	if err != nil {
		return nil, err
	}
	begin := ",\n    "
	if w.items == 0 {
		begin = "{\n  \"items\": [\n    "
	}
	text := bytes.NewBufferString(begin)
	err = json.Indent(text, encoded, "    ", "  ")
	return text.Bytes(), err
}

func (w *itemWriter) yaml(item any) ([]byte, error) {
	text, err := ownerview.YAML([]any{item})
	if err != nil {
		return nil, err
	}
	if single, isJSON := bytes.CutPrefix(text, []byte("[")); isJSON { // what YAML cannot say otherwise
		text = append([]byte("- "), append(bytes.TrimSuffix(single, []byte("]\n")), '\n')...)
	}
	if w.items == 0 {
		text = append([]byte("items:\n"), text...)
	}
	return text, nil
}

// end prints what comes after the last item.
func (w *itemWriter) end() error {
	var text string
	switch {
	case w.items == 0 && w.output == "yaml":
		text = "items: []\n"
	case w.items == 0:
		text = "{\n  \"items\": []\n}\n"
	case w.output != "yaml":
		text = "\n  ]\n}\n"
	}
	_, err := io.WriteString(w.out, text)
	return err
}
