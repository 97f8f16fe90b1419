package update

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"

	"coapply.dev/apply/internal/content"
	"coapply.dev/apply/internal/gotypes"
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

// sameQuantity reports whether both texts are the same resource.Quantity, as 1k and 1e3 are.
func (t goType) sameQuantity(a, b any) bool {
	first, _ := a.(string) // "" is no quantity
	second, _ := b.(string)
	return t.pointed() == reflect.TypeFor[resource.Quantity]() && content.SameQuantity(first, second)
}
