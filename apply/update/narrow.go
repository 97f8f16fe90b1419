package update

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"coapply.dev/apply/internal/content"
	"coapply.dev/apply/internal/gotypes"
)

// decode decodes a live object into the caller's Go type. The result shares no memory with live, because mutate will
// change the result.
func decode(live *unstructured.Unstructured, into client.Object) error {
	kind := into.GetObjectKind().GroupVersionKind()
	encoded, err := json.Marshal(live.Object)
	if err == nil {
		err = utiljson.Unmarshal(encoded, into)
	}
	if err != nil {
		return fmt.Errorf("decoding the object into %T: %w", into, err)
	}
	into.GetObjectKind().SetGroupVersionKind(kind) // keep the kind of the caller's object: typed reads may set none
	return nil
}

// encode returns the content of an object as a PUT of its Go type would send it.
func encode(object client.Object) (content map[string]any, err error) {
	encoded, err := json.Marshal(object)
	if err == nil {
		err = utiljson.Unmarshal(encoded, &content)
	}
	return content, err
}

// narrowing repeats, in the live object, the changes that mutate made to the decoded object. All other values of the
// live object stay the same.
type narrowing struct {
	goType reflect.Type
	schema func() (*typed.TypedValue, error) // returns an empty value with the kind's schema; may send requests
}

// narrow returns the live object with the changes that mutate made. before and after are the decoded object before and
// after the call of mutate.
func (n narrowing) narrow(live *unstructured.Unstructured, before, after client.Object) (*unstructured.Unstructured, error) {
	was, err := encode(before)
	is, err2 := encode(after)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	n.goType = reflect.TypeOf(after)
	result, err := n.fields(place{goType: n.goType}, live.Object, was, is)
	if err != nil {
		return nil, err
	}
	wanted := &unstructured.Unstructured{Object: result}
	return wanted, n.check(wanted, is, after)
}

// check decodes the wanted object into the Go type, and returns an error if the result differs from the object after
// mutate. They differ if the Go type, while decoding JSON, changes the order of list items or the form of map keys. The
// changes by mutate then cannot be located in the live object.
func (n narrowing) check(wanted *unstructured.Unstructured, is map[string]any, after client.Object) error {
	read := emptyLike(after)
	err := decode(wanted, read)
	read.SetManagedFields(nil)
	back, err2 := encode(read)
	if err := errors.Join(err, err2); err != nil || alike(back, is, n.goType) {
		return err
	}
	return fmt.Errorf("nothing was written: the changes that mutate made cannot be located in the live object, because %v "+
		"decodes list items in another order, or map keys in another form, than the API server stores; pass an *unstructured.Unstructured", n.goType)
}

// alike reports whether two JSON values are equal. Two values of the Go type resource.Quantity are equal if they denote
// the same amount, such as 1k and 1e3. The Go type is nil if it is not known.
func alike(a, b any, goType reflect.Type) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name := range a {
			if _, has := b[name]; !has || !alike(a[name], b[name], gotypes.FieldType(goType, name)) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, func(x, y any) bool { return alike(x, y, gotypes.ItemType(goType)) })
	case string:
		b, ok := b.(string)
		return ok && gotypes.PointedAt(goType) == reflect.TypeFor[resource.Quantity]() && content.SameQuantity(a, b)
	}
	return false
}

// rebase returns the live value with the changes that mutate made. The values before and after the call of mutate show
// these changes. A value that the live object does not have yet is returned as the Go type writes it, with the zero
// values that the schema may require. The Go type is used only where the JSON is ambiguous: for quantities, and for
// structs that became zero.
func (n narrowing) rebase(at place, live, before, after any) (any, error) {
	if alike(before, after, at.goType) {
		return live, nil
	}
	switch after := after.(type) {
	case map[string]any:
		before, _ := before.(map[string]any)
		if live, ok := live.(map[string]any); ok {
			return n.fields(at, live, before, after)
		}
	case []any:
		live, _ := live.([]any)
		before, _ := before.([]any)
		return n.items(at, live, before, after)
	}
	return after, nil
}

// fields implements rebase for a map or a struct. A field that only the live object has keeps its value, because the Go
// type lacks the field or omits its value.
func (n narrowing) fields(at place, live, before, after map[string]any) (content map[string]any, err error) {
	content = maps.Clone(live)
	for name, was := range before {
		if _, still := after[name]; still {
			continue
		}
		delete(content, name)
		// Keep the fields that the Go type lacks in a struct that became zero, but not those behind a nil pointer.
		if field := at.field(name); field.goType != nil && field.goType.Kind() == reflect.Struct {
			held, _ := live[name].(map[string]any)
			was, _ := was.(map[string]any)
			if left, _ := n.fields(field, held, was, nil); len(left) > 0 { // no error, because no list is changed
				content[name] = left
			}
		}
	}
	for name, is := range after {
		was, had := before[name]
		if field := at.field(name); !had || !alike(was, is, field.goType) {
			if content[name], err = n.rebase(field, live[name], was, is); err != nil {
				return nil, err
			}
		}
	}
	return content, nil
}
