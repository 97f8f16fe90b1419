package update

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"

	"coapply.dev/apply/internal/content"
	"coapply.dev/apply/internal/gotypes"
)

// goType is what Go knows of a value; the zero value is nothing, as of unstructured
// content.
type goType struct{ reflect.Type }

func (t goType) pointed() reflect.Type {
	at := t.Type
	for at != nil && at.Kind() == reflect.Pointer {
		at = at.Elem()
	}
	return at
}

// isStruct reports whether it is a struct itself and no pointer to one: it can be zero,
// and never nil.
func (t goType) isStruct() bool { return t.Type != nil && t.Type.Kind() == reflect.Struct }

// field returns the type of a field by its name in JSON, or of a map's values.
func (t goType) field(name string) goType {
	at := t.pointed()
	switch {
	case at == nil:
	case at.Kind() == reflect.Map:
		return goType{at.Elem()}
	case at.Kind() == reflect.Struct:
		return goType{gotypes.FieldType(at, name)}
	}
	return goType{}
}

func (t goType) item() goType {
	if at := t.pointed(); at != nil && at.Kind() == reflect.Slice {
		return goType{at.Elem()}
	}
	return goType{}
}

// sameQuantity reports whether both are one resource.Quantity: 1k is 1e3.
func (t goType) sameQuantity(a, b any) bool {
	first, _ := a.(string) // "" is none
	second, _ := b.(string)
	return t.pointed() == reflect.TypeFor[resource.Quantity]() && content.SameQuantity(first, second)
}
