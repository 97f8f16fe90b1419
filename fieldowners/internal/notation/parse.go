// Package notation writes and parses the text of a path (see fieldowners.Path). In memory, a path is a
// list of path elements of package fieldpath of structured-merge-diff.
//
// # Contract
//
//  1. Parse reads the text that Write writes, and returns the same path elements.
//  2. The output of Text and Write cannot control a terminal: invisible characters are written as JSON
//     escapes.
//  3. For malformed text, Parse returns an error and its offset. It never panics.
//
// Valid:
//
//	elements, _, err := notation.Parse(`.spec.containers[name="web"].image`)
//
// Invalid: path strings of the API server, which leave map keys unquoted.
package notation

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/value"
)

// Parse parses the text of a path. If err is not nil, at is the offset of the problem in text, in bytes.
func Parse(text string) (path fieldpath.Path, at int, err error) {
	p := parser{text: text}
	for p.at < len(text) {
		element, err := p.element()
		if err != nil {
			return nil, p.at, err
		}
		path = append(path, element)
	}
	return path, 0, nil
}

// First parses the first path element of a text, and returns the remaining text as rest.
func First(text string) (element fieldpath.PathElement, rest string, err error) {
	p := parser{text: text}
	element, err = p.element()
	return element, text[p.at:], err
}

type parser struct {
	text string
	at   int
}

func (p *parser) fail(reason string) error { return errors.New(reason) }

func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) element() (fieldpath.PathElement, error) {
	switch p.peek() {
	case '.':
		p.at++
		name, err := p.name()
		return fieldpath.PathElement{FieldName: &name}, err
	case '[':
		p.at++
		element, err := p.bracket()
		if err != nil {
			return fieldpath.PathElement{}, err
		}
		if p.peek() != ']' {
			return fieldpath.PathElement{}, p.fail(`"]" expected`)
		}
		p.at++
		return element, nil
	}
	return fieldpath.PathElement{}, p.fail(`"." or "[" expected`)
}

func (p *parser) bracket() (fieldpath.PathElement, error) {
	switch c := p.peek(); {
	case c == '=':
		p.at++
		v, err := p.literal()
		return fieldpath.PathElement{Value: &v}, err
	case c >= '0' && c <= '9':
		index, err := p.index()
		return fieldpath.PathElement{Index: &index}, err
	case c == '"':
		start := p.at
		name, err := p.quoted()
		if p.peek() != '=' { // if quoted failed, it did not move on, and peek returns '"'
			return fieldpath.PathElement{FieldName: &name}, err
		}
		p.at = start // parse again as a key, because the quoted text is the name of a key field
	}
	return p.key()
}

func (p *parser) key() (fieldpath.PathElement, error) {
	var key value.FieldList
	for {
		name, err := p.keyName()
		if err != nil {
			return fieldpath.PathElement{}, err
		}
		if p.peek() != '=' {
			return fieldpath.PathElement{}, p.fail(`"=" expected after the name of a key field, as in [name="web"]`)
		}
		p.at++
		v, err := p.literal()
		if err != nil {
			return fieldpath.PathElement{}, err
		}
		key = append(key, value.Field{Name: name, Value: v})
		if p.peek() != ',' {
			key.Sort()
			return fieldpath.PathElement{Key: &key}, nil
		}
		p.at++
	}
}

func (p *parser) keyName() (string, error) {
	if p.peek() == '"' {
		return p.quoted()
	}
	return p.name()
}

func (p *parser) name() (string, error) {
	end := strings.IndexAny(p.text[p.at:], `.[]=,"`)
	if end < 0 {
		end = len(p.text) - p.at
	}
	name := p.text[p.at : p.at+end]
	if !IsIdentifier(name) {
		return "", p.fail(`a name expected; a name with characters other than letters, digits, "_", "-" and "$" must be quoted: ["a.b/c"]`)
	}
	p.at += end
	return name, nil
}

func (p *parser) index() (int, error) {
	end := p.at
	for end < len(p.text) && p.text[end] >= '0' && p.text[end] <= '9' {
		end++
	}
	index, err := strconv.Atoi(p.text[p.at:end])
	if err != nil {
		return 0, p.fail("the index is too large")
	}
	p.at = end
	return index, nil
}

func (p *parser) quoted() (string, error) {
	var s string
	err := p.decode(&s)
	return s, err
}

func (p *parser) literal() (value.Value, error) {
	var raw json.RawMessage
	if err := p.decode(&raw); err != nil {
		return nil, err
	}
	if raw[0] == '{' || raw[0] == '[' {
		return nil, p.fail("a string, number, boolean or null expected")
	}
	v, err := value.FromJSON(raw)
	if err != nil {
		return nil, p.fail(err.Error())
	}
	return v, nil
}

// decode decodes the JSON value at the parser's position, and moves the position behind the value.
func (p *parser) decode(into any) error {
	if strings.ContainsRune(" \t\n\r", rune(p.peek())) {
		return p.fail("white space is not allowed here")
	}
	decoder := json.NewDecoder(strings.NewReader(p.text[p.at:]))
	if err := decoder.Decode(into); err != nil {
		return p.fail("a JSON string, number, boolean or null expected")
	}
	p.at += int(decoder.InputOffset())
	return nil
}
