package fieldowners

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/value"
)

// parser parses the text of a path (see Path.String). After a syntax error, the member at is the offset of the error.
type parser struct {
	text string
	at   int
}

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
		if err != nil || p.peek() != ']' {
			return fieldpath.PathElement{}, cmp.Or(err, errors.New(`"]" is expected`))
		}
		p.at++
		return element, nil
	}
	return fieldpath.PathElement{}, errors.New(`"." or "[" is expected`)
}

func (p *parser) bracket() (fieldpath.PathElement, error) {
	switch c := p.peek(); {
	case c == '=':
		p.at++
		v, err := p.literal()
		return fieldpath.PathElement{Value: &v}, err
	case c >= '0' && c <= '9':
		var index int
		if p.decode(&index) != nil {
			return fieldpath.PathElement{}, errors.New("the list index is not an integer, or is too large")
		}
		return fieldpath.PathElement{Index: &index}, nil
	}
	quoted := p.peek() == '"'
	name, err := p.keyName()
	if err != nil {
		return fieldpath.PathElement{}, err
	}
	if quoted && p.peek() != '=' {
		return fieldpath.PathElement{FieldName: &name}, nil
	}
	return p.key(name)
}

// key parses the key fields of a list item. The name of the first key field was parsed before.
func (p *parser) key(name string) (fieldpath.PathElement, error) {
	var key value.FieldList
	for {
		if p.peek() != '=' {
			return fieldpath.PathElement{}, errors.New(`"=" is expected after the name of a key field, as in [name="web"]`)
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
		if name, err = p.keyName(); err != nil {
			return fieldpath.PathElement{}, err
		}
	}
}

func (p *parser) keyName() (name string, err error) {
	if p.peek() == '"' {
		err = p.decode(&name)
		return name, err
	}
	return p.name()
}

func (p *parser) name() (string, error) {
	end := strings.IndexAny(p.text[p.at:], `.[]=,"`)
	if end < 0 {
		end = len(p.text) - p.at
	}
	name := p.text[p.at : p.at+end]
	if !isIdentifier(name) {
		return "", errors.New(`a name is expected; a name with characters other than letters, digits, "_", "-" and "$" must be quoted: ["a.b/c"]`)
	}
	p.at += end
	return name, nil
}

func (p *parser) literal() (value.Value, error) {
	var raw json.RawMessage
	if err := p.decode(&raw); err != nil {
		return nil, err
	}
	if raw[0] == '{' || raw[0] == '[' {
		return nil, errors.New("a string, number, boolean or null is expected")
	}
	v, err := value.FromJSON(raw)
	if err != nil {
		return nil, err
	}
	return v, nil
}

// decode decodes the JSON value at the parser's position, and advances the position past the value.
func (p *parser) decode(into any) error {
	if strings.ContainsRune(" \t\n\r", rune(p.peek())) {
		return errors.New("white space is not allowed here")
	}
	decoder := json.NewDecoder(strings.NewReader(p.text[p.at:]))
	if err := decoder.Decode(into); err != nil {
		return errors.New("a JSON string, number, boolean or null is expected")
	}
	p.at += int(decoder.InputOffset())
	return nil
}

// textOf returns one path element as text, such as .spec, ["a.b/c"] or [name="web"].
func textOf(element fieldpath.PathElement) string {
	switch {
	case element.FieldName != nil && isIdentifier(*element.FieldName):
		return "." + *element.FieldName
	case element.FieldName != nil:
		return "[" + jsonText(*element.FieldName) + "]"
	case element.Key != nil:
		var fields []string
		for _, field := range *element.Key {
			name := field.Name
			if !isIdentifier(name) {
				name = jsonText(name)
			}
			fields = append(fields, name+"="+jsonText(field.Value.Unstructured()))
		}
		return "[" + strings.Join(fields, ",") + "]"
	case element.Value != nil:
		return "[=" + jsonText((*element.Value).Unstructured()) + "]"
	case element.Index != nil:
		return "[" + strconv.Itoa(*element.Index) + "]"
	}
	return ""
}

// isIdentifier reports whether a name needs no quotes in a path.
func isIdentifier(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		inner := r == '-' || r == '$' || r >= '0' && r <= '9'
		if !letter && (!inner || i == 0) {
			return false
		}
	}
	return name != ""
}

// jsonText returns a value as JSON on one line, with invisible characters escaped.
func jsonText(v any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return reflect.TypeOf(v).String()
	}
	return escapeUnseen(strings.TrimSuffix(b.String(), "\n"))
}

// escapeUnseen returns JSON text with JSON escapes for invisible characters, which could control a terminal or reverse
// the direction of the text.
func escapeUnseen(text string) string {
	unseen := func(r rune) bool { return !unicode.IsPrint(r) }
	if strings.IndexFunc(text, unseen) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if !unseen(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
