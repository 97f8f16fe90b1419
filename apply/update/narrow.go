package update

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"coapply.dev/apply"
)

// decode decodes a live object into the caller's Go type. The result shares no memory with live, because mutate will
// change it.
func decode(live *unstructured.Unstructured, into client.Object) error {
	if raw, ok := into.(runtime.Unstructured); ok {
		raw.SetUnstructuredContent(runtime.DeepCopyJSON(live.Object))
		return nil
	}
	kind := into.GetObjectKind().GroupVersionKind()
	encoded, err := json.Marshal(live.Object)
	if err != nil {
		return err
	}
	if err := utiljson.Unmarshal(encoded, into); err != nil {
		return fmt.Errorf("decoding the object into %T: %w", into, err)
	}
	into.GetObjectKind().SetGroupVersionKind(kind) // keep the kind of the caller's object: typed reads may set none
	return nil
}

// encode returns the content of an object as a PUT of its Go type would send it.
func encode(object client.Object) (map[string]any, error) {
	if raw, ok := object.(runtime.Unstructured); ok {
		return maps.Clone(raw.UnstructuredContent()), nil
	}
	encoded, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var content map[string]any
	err = utiljson.Unmarshal(encoded, &content)
	return content, err
}

// narrowing repeats, in the live object, the changes that mutate made to the decoded object. All other values of the
// live object stay the same.
type narrowing struct {
	object apply.ObjectRef
	goType reflect.Type
	schema func() (*typed.TypedValue, error) // returns the API server's schema for the object's kind
}

// narrow returns the live object with the changes that mutate made. before and after are the decoded object before and
// after the call of mutate. Whatever mutate did not change stays as in the live object: also a field that the Go type
// lacks, a quantity such as 1024Mi that the Go type would write as 1Gi, and a zero value that it would omit or add.
func (n narrowing) narrow(live *unstructured.Unstructured, before, after client.Object) (*unstructured.Unstructured, error) {
	was, err := encode(before)
	is, err2 := encode(after)
	if err := errors.Join(err, err2); err != nil {
		return nil, fmt.Errorf("encoding %v: %w", n.object, err)
	}
	n.goType = reflect.TypeOf(after)
	root := &place{goType: goType{n.goType}}
	content, err := n.fields(root, live.Object, was, is)
	if err != nil {
		return nil, err
	}
	wanted := &unstructured.Unstructured{Object: content}
	if err := check(wanted, is, after, root.goType); err != nil {
		return nil, fmt.Errorf("changing %v: %w", n.object, err)
	}
	return wanted, nil
}

// check decodes the wanted object into the Go type, and returns an error if the result differs from the object after
// mutate. They differ if the Go type decodes list items in another order, or map keys in another form, than the JSON
// has. The changes by mutate then cannot be located in the live object.
func check(wanted *unstructured.Unstructured, is map[string]any, after client.Object, known goType) error {
	if _, raw := after.(runtime.Unstructured); raw {
		return nil // an unstructured object has all fields in the API server's form
	}
	read := emptyLike(after)
	err := decode(wanted, read)
	read.SetManagedFields(nil)
	back, err2 := encode(read)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if !alikeAs(back, is, known) {
		return fmt.Errorf("nothing was written: the changes by mutate cannot be located in the live object, because %T decodes list items or map keys in an order or form other than the API server's; use *unstructured.Unstructured", after)
	}
	return nil
}

// alikeAs reports whether two JSON values are equal. Maps and lists are compared value by value. Two values of the Go
// type resource.Quantity are equal if they denote the same amount.
func alikeAs(a, b any, known goType) bool {
	if same(a, b, known) {
		return true
	}
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name := range a {
			if _, ok := b[name]; !ok || !alikeAs(a[name], b[name], known.field(name)) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, func(x, y any) bool { return alikeAs(x, y, known.item()) })
	}
	return false
}

// rebase returns the live value with the changes that mutate made. The values before and after the call of mutate show
// these changes. A value that the live object does not have yet is returned as the Go type writes it, with the zero
// values that the schema may require. The Go type is used only where the JSON is ambiguous: for quantities, and for
// structs that became zero.
func (n narrowing) rebase(at *place, live, before, after any) (any, error) {
	if same(before, after, at.goType) {
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

// same reports whether two JSON values are deeply equal, or denote the same amount of a resource.Quantity.
func same(before, after any, known goType) bool {
	return reflect.DeepEqual(before, after) || known.sameQuantity(before, after)
}

// fields implements rebase for a map or a struct. A field that only the live object has keeps its value, because the Go
// type lacks the field or omits its value.
func (n narrowing) fields(at *place, live, before, after map[string]any) (map[string]any, error) {
	content := maps.Clone(live)
	for name, was := range before {
		if _, still := after[name]; still {
			continue
		}
		delete(content, name)
		if field := at.field(name); field.isStruct() { // the struct became zero: keep the fields in it that the Go type lacks
			held, _ := live[name].(map[string]any)
			was, _ := was.(map[string]any)
			left, err := n.fields(field, held, was, nil)
			if err != nil {
				return nil, err
			}
			if len(left) > 0 {
				content[name] = left
			}
		}
	}
	for name, is := range after {
		was, had := before[name]
		field := at.field(name)
		if had && same(was, is, field.goType) {
			continue
		}
		var err error
		if content[name], err = n.rebase(field, content[name], was, is); err != nil {
			return nil, err
		}
	}
	return content, nil
}
