package ownerview

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"coapply.dev/fieldowners"
)

// Find returns the fields of the object that a person means by a path: in our notation,
// with the place of a list item instead of its key, without the leading dot, or as the
// API server writes it in a conflict, where it may be several. What the object does not
// have is given as it is written, so that nothing matches it; the error says what is
// wrong with a text that cannot name any field.
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

// quoted puts back the quotes that a shell has taken from the values of keys.
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

// Has reports whether the object has one of the fields, or somebody owns it.
func (o *Object) Has(paths []fieldowners.Path) bool {
	for field := range o.Root.All() {
		if slices.ContainsFunc(paths, field.Path.Equal) {
			return true
		}
	}
	return false
}

// locate finds what the API server names so.
func (o *Object) locate(text string) []fieldowners.Path {
	var found []fieldowners.Path
	for field := range o.Root.All() {
		if field.Path.ServerString() == text {
			found = append(found, field.Path)
		}
	}
	return found
}

// find goes down from a field along the steps that are left.
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
