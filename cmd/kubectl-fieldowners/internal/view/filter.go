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

// Filter selects the fields to show. Its zero value shows everything.
type Filter struct {
	Paths     []fieldowners.Path // these fields and everything below them
	Managers  []string           // owned by one of these
	Operation metav1.ManagedFieldsOperationType
	Shared    bool // owned by several
	Unowned   bool // owned by nobody
}

// IsEmpty reports whether the filter shows everything.
func (f Filter) IsEmpty() bool {
	return len(f.Paths) == 0 && len(f.Managers) == 0 && f.Operation == "" && !f.Shared && !f.Unowned
}

// matches reports whether the filter selects a field itself.
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

// shown is a field to show, with those below it.
type shown struct {
	fieldowners.Field

	matches bool // false if it is shown only because of a field below it
	below   []shown
}

// choose returns the fields to show; ok is false if there are none at the field or below it. A
// list item that is shown keeps its key fields.
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

// Fields returns the fields of an object that the filter selects, parents first.
func (f Filter) Fields(o *Object) []fieldowners.Field {
	var found []fieldowners.Field
	for field := range o.Root.All() {
		if !field.Path.IsRoot() && f.matches(field) && (o.knowsAll() || !field.IsUnowned()) {
			found = append(found, field)
		}
	}
	return found
}

// Find returns the fields of the object that a person means by a path: in our notation, with
// the place of a list item instead of its key, without the leading dot, or as the API server
// writes it in a conflict, where it may be several. A path that the object does not have is
// returned as it is, so that nothing matches it; the error says what is wrong with a text that
// cannot name any field.
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

// ParsePath is fieldowners.ParsePath for paths that people type: the leading dot may be
// missing, and the quotes in [name="web"].
func ParsePath(text string) (fieldowners.Path, error) {
	return fieldowners.ParsePath(quoted(dotted(text)))
}

var bareWord = regexp.MustCompile(`([\[,][\w-]+=)([A-Za-z][^"\],=]*)`)

// quoted restores the quotes that a shell has removed from the values of keys.
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

// locate returns the fields that the API server may mean by a text.
func (o *Object) locate(text string) []fieldowners.Path {
	var found []fieldowners.Path
	for field := range o.Root.All() {
		if field.Path.ServerString() == text {
			found = append(found, field.Path)
		}
	}
	return found
}

// find returns the path below a field to which the remaining steps lead.
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
