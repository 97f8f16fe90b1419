package view

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"coapply.dev/fieldowners"
)

// yamlWriter collects fields as lines of YAML. The caller may append a comment to the first line of each field.
type yamlWriter struct {
	lines   []Line
	missing []fieldowners.Field // the owned fields that the object does not have
}

// write adds the lines of a field and of the fields below it. The first line begins with lead, and
// the other lines with indent spaces.
func (w *yamlWriter) write(field *shown, lead string, indent int) {
	steps, below := field.Path.Elements(), w.content(field)
	name := steps[len(steps)-1].Field
	if name != nil {
		lead += onOneLine(*name) + ":"
	} else {
		lead += "-"
	}
	switch first := len(w.lines); {
	case len(below) == 0:
		w.leaf(field, lead+" ", indent)
	case name == nil:
		w.all(below, lead+" ", indent+2)
		if w.lines[first].item == nil {
			w.lines[first].item = field
		}
	default:
		w.lines = append(w.lines, Line{Text: lead, field: field})
		if _, isList := field.Value.([]any); !isList {
			indent += 2
		}
		w.all(below, strings.Repeat(" ", indent), indent)
	}
}

func (w *yamlWriter) all(fields []*shown, lead string, indent int) {
	for _, field := range fields {
		w.write(field, lead, indent)
		lead = strings.Repeat(" ", indent)
	}
}

// content returns the child fields to write below a field. These are the selected child fields, or all existing child
// fields if only the parent is selected. content adds owned fields that are missing from the object to w.missing.
func (w *yamlWriter) content(field *shown) (below []*shown) {
	for i := range field.below {
		switch child := &field.below[i]; {
		case child.hasLine():
			below = append(below, child)
		case child.Exists:
			w.content(child)
		default:
			w.lose(child.Field)
		}
	}
	if len(below) > 0 || !field.hasLine() {
		return below
	}
	for _, child := range field.Fields {
		if child.Exists {
			below = append(below, &shown{Field: child})
		}
	}
	return below
}

// hasLine reports whether an existing field has a line in the output. The filter must select the field or an existing
// field below it. A key field also has a line if any part of its list item is selected.
func (s *shown) hasLine() bool {
	return s.Exists && (s.matches || len(s.below) == 0 || slices.ContainsFunc(s.below, func(b shown) bool { return b.hasLine() }))
}

// lose adds a missing field and all fields below it to w.missing, except for fields without an owner.
func (w *yamlWriter) lose(field fieldowners.Field) {
	for lost := range field.All() {
		if len(lost.Owners) > 0 {
			w.missing = append(w.missing, lost)
		}
	}
}

// leaf adds the lines of a field without child fields. A map or list at fieldowners.MaxDepth counts as a field
// without child fields, and is written as JSON on one line.
func (w *yamlWriter) leaf(field *shown, lead string, indent int) {
	first, rest, several := strings.Cut(scalar(field.Value), "\n")
	w.lines = append(w.lines, Line{Text: lead + first, field: field})
	if !several {
		return
	}
	for text := range strings.SplitSeq(rest, "\n") {
		if text != "" {
			text = strings.Repeat(" ", indent) + text
		}
		w.lines = append(w.lines, Line{Text: text})
	}
}

// scalar returns a value as YAML: on one line, or as a block whose lines are indented by two columns. The YAML
// library decides whether the value needs quotes. scalar uses JSON instead for text with characters that the library
// does not escape, and for blocks that begin with a tab, which YAML parsers reject.
func scalar(v any) string {
	text, is := v.(string)
	if !is || !utf8.ValidString(text) || strings.HasPrefix(strings.TrimLeft(text, "\n "), "\t") {
		return inJSON(v)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode([]any{v}); err != nil || bytes.ContainsFunc(out.Bytes(), hides) {
		return inJSON(v)
	}
	return strings.TrimSuffix(strings.TrimPrefix(out.String(), "- "), "\n")
}

func onOneLine(text string) string {
	if encoded := scalar(text); !strings.Contains(encoded, "\n") {
		return encoded
	}
	return inJSON(text)
}

// inJSON returns a value as JSON, which is YAML as well.
func inJSON(v any) string {
	encoded, _ := json.Marshal(v) // v was read from JSON or YAML
	return Visible(string(encoded))
}
