package check

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/fieldowners"
)

// fieldLines finds the lines of an object's fields in the file that it was read from.
type fieldLines struct {
	first int            // of the object
	lines map[string]int // by Path.String
}

// newFieldLines finds the lines by parsing the document of an object once more. root is the
// object, with its list items named as in paths.
func newFieldLines(item objects.Item, root fieldowners.Field) fieldLines {
	found := fieldLines{first: item.Line, lines: map[string]int{}}
	var whole yaml.Node
	if err := yaml.Unmarshal(item.Text, &whole); err != nil || len(whole.Content) == 0 {
		return found // with the document's first line
	}
	at := whole.Content[0]
	for _, i := range item.Places {
		_, list := entryNode(at, "items")
		if list == nil || i >= len(list.Content) {
			return found
		}
		at = list.Content[i]
	}
	found.first = item.Line + at.Line - 1
	found.add(item.Line-1, at, root)
	return found
}

func (l fieldLines) add(before int, node *yaml.Node, field fieldowners.Field) {
	for i, below := range field.Fields {
		if !below.Exists {
			continue
		}
		steps := below.Path.Elements()
		key, value := itemNode(node, i), itemNode(node, i)
		if name := steps[len(steps)-1].Field; name != nil {
			key, value = entryNode(node, *name)
		}
		if key == nil || value == nil {
			continue
		}
		l.lines[below.Path.String()] = before + key.Line
		l.add(before, value, below)
	}
}

// of returns the line of a field, or of the nearest field around it, from 1.
func (l fieldLines) of(path fieldowners.Path) int {
	var text strings.Builder
	line := l.first
	for _, step := range path.Elements() {
		text.WriteString(step.Text)
		if at, known := l.lines[text.String()]; known {
			line = at
		}
	}
	return line
}

func entryNode(node *yaml.Node, name string) (key, value *yaml.Node) {
	if node = resolved(node); node == nil || node.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 { // keys and values alternate
		if node.Content[i].Value == name {
			return node.Content[i], node.Content[i+1]
		}
	}
	return nil, nil
}

func itemNode(node *yaml.Node, i int) *yaml.Node {
	if node = resolved(node); node == nil || node.Kind != yaml.SequenceNode || i >= len(node.Content) {
		return nil
	}
	return node.Content[i]
}

// resolved follows an alias to its anchor.
func resolved(node *yaml.Node) *yaml.Node {
	if node != nil && node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}
