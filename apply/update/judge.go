package update

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// look judges the object handed in: when there is nothing to write, the call is
// settled without a request. That there is something is not believed, nor an error
// of mutate: both may come of what is old in a cache, and the attempts see it live.
// Only an object that is not the same any more is the fault of mutate, whatever it
// is given. That there is nothing is believed of an object that shows our own last write.
func (c *call[T]) look() (settled bool, err error) {
	if c.given.GetUID() == "" || c.given.GetResourceVersion() == "" {
		return false, nil // a name only
	}
	if !c.written.shows(c.given) {
		return false, nil
	}
	object := copySharingManagedFields(c.given)
	_, changed, err := c.judge(object)
	if err != nil || changed {
		return errors.Is(err, ErrIdentityChanged), err
	}
	c.result.Object = object
	return true, nil
}

// copySharingManagedFields copies what mutate may write to. judge takes the managed fields away
// before, and they are most of many objects.
func copySharingManagedFields[T client.Object](object T) T {
	if _, raw := any(object).(runtime.Unstructured); raw {
		return copyOf(object) // its content is a map, whose managed fields cannot be left out for the copy alone
	}
	without := reflect.New(reflect.TypeOf(object).Elem())
	without.Elem().Set(reflect.ValueOf(object).Elem())
	short := without.Interface().(T)
	short.SetManagedFields(nil)
	copied := copyOf(short)
	copied.SetManagedFields(slices.Clone(object.GetManagedFields()))
	return copied
}

// judge has mutate change an object, and tells how it was before and whether there
// is anything to write.
func (c *call[T]) judge(object T) (before T, changed bool, err error) {
	managed := object.GetManagedFields()
	object.SetManagedFields(nil)
	before = copyOf(object)
	if err = c.change(before, object); err == nil {
		changed = !reflect.DeepEqual(before, object) && !equality.Semantic.DeepEqual(before, object) // the first costs a tenth
	}
	if !changed {
		object.SetManagedFields(managed) // without them the result would look as if nobody owned it
	}
	return before, changed, err
}

// rejudge has mutate change what the live object is in Go. wanted is the live object
// with that change, as it is to be written; nil: there is nothing to write.
func (c *call[T]) rejudge(live *unstructured.Unstructured) (object T, wanted *unstructured.Unstructured, err error) {
	object = emptyLike(c.given)
	if err := decode(live, object); err != nil {
		return object, nil, fmt.Errorf("%v: %w", c.ref, err)
	}
	before, changed, err := c.judge(object)
	if !changed {
		return object, nil, err
	}
	if wanted, err = narrow(live, before, object); err != nil {
		return object, nil, fmt.Errorf("%v: %w", c.ref, err)
	}
	if reflect.DeepEqual(wanted.Object, live.Object) {
		object.SetManagedFields(live.GetManagedFields())
		return object, nil, nil
	}
	wanted.SetManagedFields(nil)
	return object, wanted, nil
}

// change has mutate change the object, and refuses to write it when it is not the
// same object any more.
func (c *call[T]) change(before, object T) error {
	if err := c.mutate(object); err != nil {
		return fmt.Errorf("changing %v: %w", c.ref, err)
	}
	object.SetManagedFields(nil)
	if object.GetName() != before.GetName() || object.GetNamespace() != before.GetNamespace() ||
		object.GetUID() != before.GetUID() || object.GetResourceVersion() != before.GetResourceVersion() ||
		object.GetObjectKind().GroupVersionKind() != before.GetObjectKind().GroupVersionKind() {
		return fmt.Errorf("changing %v: %w", c.ref, ErrIdentityChanged)
	}
	return nil
}
