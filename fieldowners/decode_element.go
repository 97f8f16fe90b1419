package fieldowners

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/value"
)

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
