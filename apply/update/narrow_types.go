package update

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// goType is the Go type of a value; zero if it has none, as unstructured content.
type goType struct{ reflect.Type }

func (t goType) pointed() reflect.Type {
	at := t.Type
	for at != nil && at.Kind() == reflect.Pointer {
		at = at.Elem()
	}
	return at
}

// isStruct reports whether values are structs, not pointers to structs: they can be zero, and
// never nil.
func (t goType) isStruct() bool { return t.Type != nil && t.Type.Kind() == reflect.Struct }

// field returns the type of a field by its name in JSON, or of a map's values.
func (t goType) field(name string) goType {
	at := t.pointed()
	switch {
	case at == nil:
	case at.Kind() == reflect.Map:
		return goType{at.Elem()}
	case at.Kind() == reflect.Struct:
		if field, ok := fieldNamed(at, name); ok {
			return goType{field.Type}
		}
	}
	return goType{}
}

func (t goType) item() goType {
	if at := t.pointed(); at != nil && (at.Kind() == reflect.Slice || at.Kind() == reflect.Array) {
		return goType{at.Elem()}
	}
	return goType{}
}

// fieldNamed returns the field with a name in JSON, also of embedded structs.
func fieldNamed(t reflect.Type, name string) (reflect.StructField, bool) {
	for field := range t.Fields() {
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		embedded := goType{field.Type}.pointed()
		switch {
		case tag == name:
			return field, true
		case tag == "" && field.Anonymous && embedded.Kind() == reflect.Struct:
			if found, ok := fieldNamed(embedded, name); ok {
				return found, true
			}
		}
	}
	return reflect.StructField{}, false
}

// sameQuantity reports whether both texts are the same resource.Quantity, as 1k and 1e3 are.
func (t goType) sameQuantity(a, b any) bool {
	first, isText := a.(string)
	second, isText2 := b.(string)
	if !isText || !isText2 || t.pointed() != reflect.TypeFor[resource.Quantity]() {
		return false
	}
	x, err := resource.ParseQuantity(first)
	y, err2 := resource.ParseQuantity(second)
	return err == nil && err2 == nil && x.Cmp(y) == 0
}
