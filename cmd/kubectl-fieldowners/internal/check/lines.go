package check

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/fieldowners"
)

// fieldLines finds the lines of an object's fields in the file that it was read from.
type fieldLines struct {
	before, first int               // the lines before its document, and its own first one
	node          *yaml.Node        // of the object; nil where its document cannot be read once more
	root          fieldowners.Field // the object, its list items named as paths name them
}

// newFieldLines reads the document of an object once more.
func newFieldLines(item objects.Item, root fieldowners.Field) fieldLines {
	l := fieldLines{before: item.Line - 1, first: item.Line, root: root}
	var whole yaml.Node
	if err := yaml.Unmarshal(item.Text, &whole); err != nil || len(whole.Content) == 0 {
		return l // the document's first line is still right
	}
	at := whole.Content[0]
	for _, i := range item.Places {
		_, list := entryNode(at, "items")
		if at = itemNode(list, i); at == nil {
			return l
		}
	}
	l.node, l.first = at, l.before+at.Line
	return l
}

// of returns the line of a field, or of the nearest one around it.
func (l fieldLines) of(path fieldowners.Path) int {
	line, at, field := l.first, l.node, l.root
	for at != nil {
		i := slices.IndexFunc(field.Fields, func(below fieldowners.Field) bool { return below.Exists && path.HasPrefix(below.Path) })
		if i < 0 {
			break
		}
		field = field.Fields[i]
		steps := field.Path.Elements()
		key, value := itemNode(at, i), itemNode(at, i)
		if name := steps[len(steps)-1].Field; name != nil {
			key, value = entryNode(at, *name)
		}
		if key == nil {
			break
		}
		line, at = l.before+key.Line, value
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
