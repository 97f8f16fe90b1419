package objects

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// list is a List whose items have not been decoded yet.
type list struct {
	file             string
	kind, apiVersion string
	items            []Document
}

// long is the size from which a YAML document is split before it is decoded, as decoding takes
// a hundred times its size in memory.
const long = 1 << 20

// list splits a document that is a List; is reports whether it is one, as far as that shows
// without decoding its items.
func (d Document) list() (l list, is bool) {
	if text := bytes.TrimSpace(d.Text); len(text) > 0 && text[0] == '{' {
		l, is = jsonList(text)
		for i := range l.items {
			l.items[i].Line = d.Line
		}
	} else if len(d.Text) >= long {
		l, is = yamlList(d.Text, d.Line)
	}
	l.file = d.File
	return l, is && strings.HasSuffix(l.kind, "List")
}

func jsonList(text []byte) (l list, is bool) {
	var top map[string]json.RawMessage
	var items []json.RawMessage
	if json.Unmarshal(text, &top) != nil || top["items"] == nil || json.Unmarshal(top["items"], &items) != nil ||
		json.Unmarshal(top["kind"], &l.kind) != nil || json.Unmarshal(top["apiVersion"], &l.apiVersion) != nil {
		return list{}, false
	}
	for _, item := range items {
		l.items = append(l.items, Document{Text: item})
	}
	return l, true
}

// In a List by kubectl the keys, and the dashes of items, begin in the first column. A document
// with an anchor is not split, as another item may refer to it.
var (
	listKey = regexp.MustCompile(`^(kind|apiVersion): "?([\w./-]+)"?\s*$`)
	anchor  = regexp.MustCompile(`(?m)[:-] +[&*]\w`)
)

func yamlList(text []byte, first int) (l list, is bool) {
	if anchor.Match(text) {
		return list{}, false
	}
	inItems, line := false, first-1
	for at, rest := 0, text; len(rest) > 0; {
		line++
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			end = len(rest)
		}
		row := rest[:end]
		switch {
		case bytes.HasPrefix(row, []byte("- ")) && inItems:
			l.items = append(l.items, Document{Line: line, Text: text[at : at+end]})
		case row[0] == ' ' || row[0] == '\n' || row[0] == '#':
			if inItems && len(l.items) > 0 {
				last := &l.items[len(l.items)-1]
				last.Text = last.Text[:len(last.Text)+end]
			}
		case bytes.Equal(bytes.TrimSpace(row), []byte("items:")):
			inItems, is = true, true
		default:
			inItems = false
			match := listKey.FindSubmatch(row)
			switch {
			case len(match) == 3 && string(match[1]) == "kind":
				l.kind = string(match[2])
			case len(match) == 3:
				l.apiVersion = string(match[2])
			case !bytes.HasPrefix(row, []byte("metadata:")):
				return list{}, false
			}
		}
		at, rest = at+end, rest[end:]
	}
	return l, is
}

// visit is called with one object, its name in messages, and its indexes in the Lists around
// it.
type visit = func(source string, places []int, object map[string]any) error

// each decodes the items one by one, and calls visit.
func (l list) each(source string, each visit) error {
	for i, d := range l.items {
		l.items[i].Text = nil
		if text, isYAML := bytes.CutPrefix(d.Text, []byte("- ")); isYAML {
			d.Text = append([]byte("  "), text...)
		}
		object, err := decode(fmt.Sprintf("%s, item %d", l.file, i), d.Line, d.Text)
		if err != nil {
			return err
		}
		var item any = object
		if object == nil {
			item = nil // not an empty object
		}
		if err := flattenItem(source, nil, i, item, l.kind, l.apiVersion, each); err != nil {
			return err
		}
	}
	return nil
}

// flatten calls each with the items of a List, or with the object itself.
func flatten(source string, places []int, object map[string]any, each visit) error {
	kind, _ := object["kind"].(string)
	apiVersion, _ := object["apiVersion"].(string)
	items, isList := object["items"].([]any)
	if !isList || !strings.HasSuffix(kind, "List") {
		if kind == "" || apiVersion == "" {
			return fmt.Errorf("%s: apiVersion or kind is missing: no Kubernetes object", source)
		}
		if _, err := schema.ParseGroupVersion(apiVersion); err != nil {
			return fmt.Errorf("%s: apiVersion is not of the form group/version: no Kubernetes object", source)
		}
		return each(source, places, object)
	}
	for i, raw := range items {
		if err := flattenItem(source, places, i, raw, kind, apiVersion, each); err != nil {
			return err
		}
	}
	return nil
}

// flattenItem calls each with an item of a List of a kind.
func flattenItem(source string, places []int, i int, raw any, kind, apiVersion string, each visit) error {
	at := fmt.Sprintf("%s, item %d", source, i)
	item, isMap := raw.(map[string]any)
	if !isMap {
		return fmt.Errorf("%s: no object, but %s", at, kindOfValue(raw))
	}
	// The items of a typed list, as the API returns it, have neither apiVersion nor kind.
	if ofKind := strings.TrimSuffix(kind, "List"); item["kind"] == nil && ofKind != "" {
		item["apiVersion"], item["kind"] = apiVersion, ofKind
	}
	return flatten(at, append(slices.Clone(places), i), item, each)
}
