package fieldowners

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/value"
)

// MaxDepth is the maximum number of nested levels in managed fields. Managed fields with more levels are an error.
// In an object, Join and Changes treat a map or list at this depth as one field.
const MaxDepth = 1000

// decodeFields parses FieldsV1, the API server's encoding of a set of fields. FieldsV1 is a nested object. Its keys
// are path elements, or "." for the field itself.
//
// The result equals the result of fieldpath.Set.FromJSON (a fuzz test compares both). Unlike FromJSON, decodeFields
// returns an error for text after the value, duplicate keys, fields below the key ".", and keys of an unknown form,
// which a newer API server may use.
func decodeFields(text string) (*fieldpath.Set, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("fieldsV1 is not UTF-8")
	}
	r, set := json.NewDecoder(strings.NewReader(text)), fieldpath.NewSet()
	_, err := decodeObject(r, set, 0) // nobody can own the root, so "." is ignored there
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		if _, after := r.Token(); after != io.EOF {
			err = errors.New("unexpected text after the JSON value")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("fieldsV1: near offset %d: %w", r.InputOffset(), err)
	}
	return set, nil
}

// decodeObject reads a nested object of FieldsV1, which describes one field, into a set. If the object is empty or has
// the key ".", the manager owns the field itself, and self is true.
func decodeObject(r *json.Decoder, into *fieldpath.Set, depth int) (self bool, err error) {
	if depth > MaxDepth {
		return false, fmt.Errorf("nested deeper than %d levels", MaxDepth)
	}
	if token, err := r.Token(); err != nil || token != json.Delim('{') {
		return false, cmp.Or(err, errors.New("an object is expected"))
	}
	self = !r.More()
	for r.More() {
		key, err := r.Token()
		if err != nil {
			return false, err
		}
		isSelf, err := decodeField(r, into, depth, key.(string)) // the decoder checks that keys are strings
		if err != nil {
			return false, err
		}
		if isSelf && self {
			return false, errors.New(`"." occurs twice`)
		}
		self = self || isSelf
	}
	_, err = r.Token() // "}"
	return self, err
}

// decodeField reads the value of one key of FieldsV1 into a set. isSelf is true if the key is ".".
func decodeField(r *json.Decoder, into *fieldpath.Set, depth int, key string) (isSelf bool, err error) {
	below := &fieldpath.Set{}
	if key == "." {
		_, err := decodeObject(r, below, depth+1)
		if err == nil && !below.Empty() {
			err = errors.New(`{} is expected for "."`)
		}
		return true, err
	}
	element, err := decodeElement(key)
	if err != nil {
		return false, fmt.Errorf("key %.80q: %w", key, err)
	}
	if _, has := into.Children.Get(element); has || into.Members.Has(element) {
		return false, fmt.Errorf("key %.80q occurs twice", key)
	}
	owned, err := decodeObject(r, below, depth+1)
	if owned {
		into.Members.Insert(element)
	}
	if !below.Empty() {
		*into.Children.Descend(element) = *below
	}
	return false, err
}

// decodeElement parses a key as a path element. It is stricter than fieldpath.DeserializePathElement, which accepts text
// after a value, an empty value, and a list key without fields.
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
			return fieldpath.PathElement{}, errors.New(`an index is expected after "i:"`)
		}
		return fieldpath.PathElement{Index: &index}, nil
	case "k", "v":
		if !json.Valid([]byte(rest)) {
			return fieldpath.PathElement{}, fmt.Errorf("JSON is expected after %q", form+":")
		}
		element, err := fieldpath.DeserializePathElement(key)
		if err != nil { // err is not returned, because its text has several lines
			return fieldpath.PathElement{}, fmt.Errorf("the JSON after %q has the wrong form, or contains a number that does not fit in 64 bits", form+":")
		}
		return element, checkElement(element)
	}
	return fieldpath.PathElement{}, errors.New(`the form is unknown: want ".", "f:name", "k:{keys}", "v:value" or "i:index"`)
}

func checkElement(element fieldpath.PathElement) error {
	if element.Value != nil && isComposite(*element.Value) {
		return errors.New(`a string, number, boolean or null is expected after "v:"`)
	}
	if element.Key == nil {
		return nil
	}
	for i, field := range *element.Key {
		if isComposite(field.Value) {
			return fmt.Errorf("the value of the key field %.80q is not a string, number, boolean or null", field.Name)
		}
		if i > 0 && (*element.Key)[i-1].Name == field.Name {
			return fmt.Errorf("the key field %.80q occurs twice", field.Name)
		}
	}
	if len(*element.Key) == 0 {
		return errors.New(`fields are expected after "k:"`)
	}
	return nil
}

func isComposite(v value.Value) bool { return v.IsMap() || v.IsList() }
