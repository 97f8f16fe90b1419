package update

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// look calls mutate on a copy of the object passed in. The call is settled without a request if
// there is nothing to write and the object shows our own last write, or if mutate changed the
// object's identity. Anything else, such as an error of mutate, may be due to an old cache: the
// attempts decide, on the live object.
func (c *call[T]) look() (settled bool, err error) {
	if c.given.GetUID() == "" || c.given.GetResourceVersion() == "" {
		return false, nil // a name only
	}
	if !c.written.shows(c.given) {
		return false, nil
	}
	object := copyOf(c.given)
	_, changed, err := c.judge(object)
	if err != nil || changed {
		return errors.Is(err, ErrIdentityChanged), err
	}
	c.result.Object = object
	return true, nil
}

// judge calls mutate on an object. It returns a copy from before, and whether there is anything
// to write.
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

// rejudge calls mutate on the live object in its Go type. wanted is the live object with the
// change, as it is to be written, or nil if there is nothing to write.
func (c *call[T]) rejudge(ctx context.Context, live *unstructured.Unstructured) (object T, wanted *unstructured.Unstructured, err error) {
	object = emptyLike(c.given)
	if err := decode(live, object); err != nil {
		return object, nil, fmt.Errorf("%v: %w", c.ref, err)
	}
	before, changed, err := c.judge(object)
	if !changed {
		return object, nil, err
	}
	changes := narrowing{object: c.ref, schema: c.schemaOf(ctx, c.ref.GroupVersionKind)}
	if wanted, err = changes.narrow(live, before, object); err != nil {
		return object, nil, err
	}
	if reflect.DeepEqual(wanted.Object, live.Object) {
		object.SetManagedFields(live.GetManagedFields())
		return object, nil, nil
	}
	wanted.SetManagedFields(nil)
	return object, wanted, nil
}

// change calls mutate, and returns ErrIdentityChanged if the object is not the same any more.
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
