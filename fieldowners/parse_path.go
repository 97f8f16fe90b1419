package fieldowners

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/value"
)

// PathError says where a path's text stops being one.
type PathError struct {
	Text   string // what was parsed
	Offset int    // bytes from its start
	Reason string
}

func (e *PathError) Error() string {
	return fmt.Sprintf("path %q: at offset %d: %s", e.Text, e.Offset, e.Reason)
}

// ParsePath reads the notation of Path.String. The error is a *PathError.
func ParsePath(text string) (Path, error) {
	p := pathParser{text: text}
	var elements fieldpath.Path
	for p.at < len(text) {
		element, err := p.element()
		if err != nil {
			return Path{}, err
		}
		elements = append(elements, element)
	}
	return Path{elements: elements}, nil
}

// MustParsePath is ParsePath for paths written in code; it panics on an error.
func MustParsePath(text string) Path {
	path, err := ParsePath(text)
	if err != nil {
		panic(err)
	}
	return path
}

type pathParser struct {
	text string
	at   int
}

func (p *pathParser) fail(reason string) error {
	return &PathError{Text: p.text, Offset: p.at, Reason: reason}
}

func (p *pathParser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *pathParser) element() (fieldpath.PathElement, error) {
	switch p.peek() {
	case '.':
		p.at++
		name, err := p.name()
		return fieldpath.PathElement{FieldName: &name}, err
	case '[':
		p.at++
		element, err := p.bracket()
		if err != nil {
			return element, err
		}
		if p.peek() != ']' {
			return element, p.fail(`"]" expected`)
		}
		p.at++
		return element, nil
	}
	return fieldpath.PathElement{}, p.fail(`"." or "[" expected`)
}

func (p *pathParser) bracket() (fieldpath.PathElement, error) {
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
		if err != nil || p.peek() != '=' {
			return fieldpath.PathElement{FieldName: &name}, err
		}
		p.at = start // a key whose field name is quoted
	}
	return p.key()
}

func (p *pathParser) key() (fieldpath.PathElement, error) {
	var key value.FieldList
	for {
		name, err := p.keyName()
		if err != nil {
			return fieldpath.PathElement{}, err
		}
		if p.peek() != '=' {
			return fieldpath.PathElement{}, p.fail(`"=" expected after the name of a key field`)
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

func (p *pathParser) keyName() (string, error) {
	if p.peek() == '"' {
		return p.quoted()
	}
	return p.name()
}

func (p *pathParser) name() (string, error) {
	end := strings.IndexAny(p.text[p.at:], `.[]=,"`)
	if end < 0 {
		end = len(p.text) - p.at
	}
	name := p.text[p.at : p.at+end]
	if !isIdentifier(name) {
		return "", p.fail(`a name expected; one with other characters than letters, digits, "_", "-" and "$" is quoted: ["a.b/c"]`)
	}
	p.at += end
	return name, nil
}

func (p *pathParser) index() (int, error) {
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

func (p *pathParser) quoted() (string, error) {
	var s string
	err := p.decode(&s)
	return s, err
}

func (p *pathParser) literal() (value.Value, error) {
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

// decode reads one JSON value at the parser's place.
func (p *pathParser) decode(into any) error {
	if c := p.peek(); c == ' ' || c == '\t' || c == '\n' || c == '\r' {
		return p.fail("no white space here")
	}
	decoder := json.NewDecoder(strings.NewReader(p.text[p.at:]))
	if err := decoder.Decode(into); err != nil {
		return p.fail("a JSON string, number, boolean or null expected")
	}
	p.at += int(decoder.InputOffset())
	return nil
}
