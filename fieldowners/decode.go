package fieldowners

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/value"
)

// MaxDepth is how many levels of fields are distinguished, in managed fields and in objects.
// Real objects have some ten.
const MaxDepth = 1000

// fieldsReader reads FieldsV1, the API server's form of a set of fields: nested objects, whose
// keys are path elements or ".", the field itself.
//
// It returns the same set as fieldpath.Set.FromJSON (a fuzz test compares them), and returns an
// error where that skips something: text after the value, keys of an unknown form (a newer API
// server may know what they mean), keys that occur twice, content where there must be none.
type fieldsReader struct {
	text string
	at   int
}

// decodeFields parses FieldsV1. The set refers to parts of the text.
func decodeFields(text string) (*fieldpath.Set, error) {
	r := fieldsReader{text: text}
	set := fieldpath.NewSet()
	_, err := r.object(set, 0) // the root cannot be owned: "." means nothing here
	if r.peek(); err == nil && r.at < len(text) {
		err = r.unexpected("the end")
	}
	if err != nil {
		return nil, fmt.Errorf("fieldsV1: %w", err)
	}
	return set, nil
}

// object reads one object into a set. self reports whether the object's field is owned itself,
// as it is if the object is empty.
func (r *fieldsReader) object(into *fieldpath.Set, depth int) (self bool, err error) {
	if depth > MaxDepth {
		return false, r.fail(r.at, fmt.Sprintf("nested deeper than %d levels", MaxDepth))
	}
	if !r.take('{') {
		return false, r.unexpected(`an object, "{"`)
	}
	if r.take('}') {
		return true, nil
	}
	for {
		isSelf, err := r.field(into, depth)
		switch {
		case err != nil:
			return false, err
		case isSelf && self:
			return false, r.fail(r.at, `"." occurs twice`)
		}
		self = self || isSelf
		if r.take('}') {
			return self, nil
		}
		if !r.take(',') {
			return false, r.unexpected(`"," or "}"`)
		}
	}
}

// field reads one key and what is below it; isSelf is true for ".".
func (r *fieldsReader) field(into *fieldpath.Set, depth int) (isSelf bool, err error) {
	r.peek()
	start := r.at
	key, err := r.key()
	if err != nil {
		return false, err
	}
	if !r.take(':') {
		return false, r.unexpected(`":"`)
	}
	if key == "." {
		return true, r.nothing()
	}
	element, err := decodeElement(key)
	if err != nil {
		return false, r.fail(start, fmt.Sprintf("key %.80q: %v", key, err))
	}
	_, has := into.Children.Get(element)
	if has || into.Members.Has(element) {
		return false, r.fail(start, fmt.Sprintf("key %.80q occurs twice", key))
	}
	below := &fieldpath.Set{}
	owned, err := r.object(below, depth+1)
	if err != nil {
		return false, err
	}
	if owned {
		into.Members.Insert(element)
	}
	if !below.Empty() {
		*into.Children.Descend(element) = *below
	}
	return false, nil
}

// nothing reads the empty object that belongs to ".".
func (r *fieldsReader) nothing() error {
	if !r.take('{') || !r.take('}') {
		return r.unexpected(`"{}" for "."`)
	}
	return nil
}

// key reads a JSON string.
func (r *fieldsReader) key() (string, error) {
	if !r.take('"') {
		return "", r.unexpected("a key")
	}
	start, escaped := r.at, false
	for ; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; {
		case c == '"':
			r.at++
			return r.unquote(start, escaped)
		case c == '\\':
			escaped = true
			r.at++
		case c < ' ':
			return "", r.fail(r.at, "a control character in a key")
		}
	}
	r.at = len(r.text)
	return "", r.unexpected(`the end of a key, '"'`)
}

func (r *fieldsReader) unquote(start int, escaped bool) (string, error) {
	key := r.text[start : r.at-1]
	if !utf8.ValidString(key) {
		return "", r.fail(start, fmt.Sprintf("key %.80q is not UTF-8", key))
	}
	if escaped {
		if err := json.Unmarshal([]byte(r.text[start-1:r.at]), &key); err != nil {
			return "", r.fail(start, fmt.Sprintf("%.80q is no JSON string", key))
		}
	}
	return key, nil
}

// take skips white space and the character c, and reports whether c was there.
func (r *fieldsReader) take(c byte) bool {
	if r.peek() != c {
		return false
	}
	r.at++
	return true
}

// peek returns the next character that is not white space; 0 at the end.
func (r *fieldsReader) peek() byte {
	for ; r.at < len(r.text); r.at++ {
		if c := r.text[r.at]; c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c
		}
	}
	return 0
}

func (r *fieldsReader) fail(at int, reason string) error {
	return fmt.Errorf("at offset %d: %s", at, reason)
}

func (r *fieldsReader) unexpected(want string) error {
	if r.at >= len(r.text) {
		return r.fail(r.at, "it ends where "+want+" is expected")
	}
	return r.fail(r.at, fmt.Sprintf("%s expected, found %.20q", want, r.text[r.at:]))
}

// decodeElement is stricter than fieldpath.DeserializePathElement, which accepts text after a
// value, no value, and keys without a field.
func decodeElement(key string) (fieldpath.PathElement, error) {
	form, rest, _ := strings.Cut(key, ":")
	switch form {
	case "f":
		if len(key) > 1 {
			return fieldpath.PathElement{FieldName: &rest}, nil
		}
	case "i":
		index, _ := strconv.Atoi(rest)
		if strconv.Itoa(index) != rest || index < 0 {
			return fieldpath.PathElement{}, errors.New(`an index is expected behind "i:"`)
		}
		return fieldpath.PathElement{Index: &index}, nil
	case "k", "v":
		if !json.Valid([]byte(rest)) {
			return fieldpath.PathElement{}, fmt.Errorf("JSON is expected behind %q", form+":")
		}
		element, err := fieldpath.DeserializePathElement(key)
		if err != nil { // its text has lines
			return fieldpath.PathElement{}, fmt.Errorf("what stands behind %q is not of that form, or a number beyond 64 bits", form+":")
		}
		return element, checkElement(element)
	}
	return fieldpath.PathElement{}, errors.New(`of no known form: ".", "f:name", "k:{keys}", "v:value" or "i:index"`)
}

func checkElement(element fieldpath.PathElement) error {
	if element.Value != nil && isComposite(*element.Value) {
		return errors.New(`a string, number, boolean or null is expected behind "v:"`)
	}
	if element.Key == nil {
		return nil
	}
	for i, field := range *element.Key {
		if isComposite(field.Value) {
			return fmt.Errorf("its %.80q is no string, number, boolean or null", field.Name)
		}
		if i > 0 && (*element.Key)[i-1].Name == field.Name {
			return fmt.Errorf("its %.80q occurs twice", field.Name)
		}
	}
	if len(*element.Key) == 0 {
		return errors.New(`fields are expected behind "k:"`)
	}
	return nil
}

func isComposite(v value.Value) bool { return v.IsMap() || v.IsList() }
