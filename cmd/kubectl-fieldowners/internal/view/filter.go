package view

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// Filter selects the fields to show. A field is selected if it meets all conditions. The zero Filter
// selects all fields.
type Filter struct {
	Paths     []fieldowners.Path                // only these fields and the fields below them
	Managers  []string                          // only fields that one of these managers owns
	Operation metav1.ManagedFieldsOperationType // only fields that a manager (one of Managers, if set) owns by this operation
	Shared    bool                              // only fields with several owners
	Unowned   bool                              // only fields without an owner
}

// IsEmpty reports whether the filter has no condition, so that it selects all fields.
func (f Filter) IsEmpty() bool {
	return len(f.Paths) == 0 && len(f.Managers) == 0 && f.Operation == "" && !f.Shared && !f.Unowned
}

// matches reports whether the filter selects the field itself. A field that is only a parent of
// selected fields does not match.
func (f Filter) matches(field fieldowners.Field) bool {
	if len(f.Paths) > 0 && !slices.ContainsFunc(f.Paths, field.Path.HasPrefix) {
		return false
	}
	if f.Unowned && !field.IsUnowned() || f.Shared && !field.IsShared() {
		return false
	}
	if len(f.Managers) == 0 && f.Operation == "" {
		return true
	}
	return slices.ContainsFunc(slices.Concat(field.Owners, field.Whole), func(m fieldowners.Manager) bool {
		return (len(f.Managers) == 0 || slices.Contains(f.Managers, m.Name)) && (f.Operation == "" || f.Operation == m.Operation)
	})
}

// shown is a field in the output, with its child fields in the output.
type shown struct {
	fieldowners.Field

	matches bool // false if the field is only a parent of a selected field, or a key field of a list item with a selected field
	below   []shown
}

// choose returns a field without the unselected fields below it. If any part of a list item is selected, choose keeps
// the key fields of the item. It returns false if the filter selects neither the field nor a field below it.
func (f Filter) choose(field fieldowners.Field) (chosen shown, ok bool) {
	chosen = shown{Field: field, matches: f.matches(field)}
	var keys []shown
	for _, child := range field.Fields {
		below, found := f.choose(child)
		switch {
		case found:
			chosen.below = append(chosen.below, below)
		case child.Path.IsKeyField():
			keys = append(keys, below)
		}
	}
	ok = chosen.matches || len(chosen.below) > 0
	if ok && len(keys) > 0 {
		chosen.below = append(keys, chosen.below...)
	}
	return chosen, ok
}

// Fields returns the selected fields of an object. A field comes before its child fields.
func (f Filter) Fields(o *Object) []fieldowners.Field {
	var found []fieldowners.Field
	for field := range o.Root.All() {
		if !field.Path.IsRoot() && f.matches(field) && (o.knowsAll() || !field.IsUnowned()) {
			found = append(found, field)
		}
	}
	return found
}

// Find returns the paths of the fields that match a text typed by a user. The text has one of these forms:
//   - the notation of fieldowners.Path, with or without the leading dot;
//   - the same notation, with the index of a list item instead of its key;
//   - the API server's string for a field in a conflict message, which may match several fields.
//
// If no field matches a valid path, Find returns the path itself. It returns an error for an invalid path.
func (o *Object) Find(text string) ([]fieldowners.Path, error) {
	if text == "" {
		return nil, nil
	}
	path, err := ParsePath(text)
	if err == nil {
		if found, ok := find(o.Root, path.Elements()); ok {
			return []fieldowners.Path{found}, nil
		}
	}
	if located := o.locate(dotted(text)); len(located) > 0 {
		return located, nil
	}
	if err != nil {
		return nil, err
	}
	return []fieldowners.Path{path}, nil
}

// ParsePath parses a path that a user typed. It accepts what fieldowners.ParsePath accepts, and also
// paths without the leading dot, or without the quotes in [name="web"].
func ParsePath(text string) (fieldowners.Path, error) {
	return fieldowners.ParsePath(quoted(dotted(text)))
}

var bareWord = regexp.MustCompile(`([\[,][\w-]+=)([A-Za-z][^"\],=]*)`)

// quoted adds the quotes to [name=web], because a shell has removed them from [name="web"].
func quoted(text string) string {
	return bareWord.ReplaceAllStringFunc(text, func(key string) string {
		name, word, _ := strings.Cut(key, "=")
		switch word {
		case "true", "false", "null":
			return key
		}
		return name + "=" + strconv.Quote(word)
	})
}

func dotted(text string) string {
	if text != "" && text[0] != '.' && text[0] != '[' {
		return "." + text
	}
	return text
}

// locate returns the fields that the API server denotes by the given text in a conflict message.
func (o *Object) locate(text string) []fieldowners.Path {
	var found []fieldowners.Path
	for field := range o.Root.All() {
		if field.Path.ServerString() == text {
			found = append(found, field.Path)
		}
	}
	return found
}

// find follows path elements downwards from a field, and returns the path of the last field. It returns false if a
// field on the way does not exist.
func find(at fieldowners.Field, steps []fieldowners.Element) (fieldowners.Path, bool) {
	if len(steps) == 0 {
		return at.Path, true
	}
	for i, below := range at.Fields {
		its := below.Path.Elements()
		place := steps[0].Index && steps[0].Text == fmt.Sprintf("[%d]", i)
		if !place && its[len(its)-1].Text != steps[0].Text {
			continue
		}
		if found, ok := find(below, steps[1:]); ok {
			return found, true
		}
	}
	return fieldowners.Path{}, false
}
