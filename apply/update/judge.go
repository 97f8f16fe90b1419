package update

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// look calls mutate, the caller's function, on a copy of the caller's object. settled reports whether the call can end
// without a request. It is true if mutate changed nothing, and the object is at least as new as the Updater's last
// write to it. It is also true if mutate changed the identity of the object, which is an error. All other results, such
// as an error of mutate, may be due to an outdated cache. The attempts then call mutate again, on the live object.
func (c *call[T]) look() (settled bool, err error) {
	if c.given.GetUID() == "" || c.given.GetResourceVersion() == "" {
		return false, nil // the caller's object was not read from the API server or a cache: it has only a name
	}
	if !c.ledger.Shows(c.ref.Key(), own, c.given.GetResourceVersion()) {
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

// judge calls mutate, the caller's function, on the object, and reports whether mutate changed the object. before is a
// copy of the object from before the call of mutate.
func (c *call[T]) judge(object T) (before T, changed bool, err error) {
	managed := object.GetManagedFields()
	object.SetManagedFields(nil)
	before = copyOf(object)
	if err = c.change(before, object); err == nil {
		changed = !reflect.DeepEqual(before, object) && !equality.Semantic.DeepEqual(before, object) // in this order, because reflect.DeepEqual is ten times as fast
	}
	if !changed {
		object.SetManagedFields(managed) // put back the managed fields, because the object becomes Result.Object
	}
	return before, changed, err
}

// rejudge decodes the live object into the caller's Go type, and calls mutate on the decoded object. wanted is the
// object to write: the live object with the changes that mutate made. It is nil if there is nothing to write.
func (c *call[T]) rejudge(ctx context.Context, live *unstructured.Unstructured) (object T, wanted *unstructured.Unstructured, err error) {
	object = emptyLike(c.given)
	if err := decode(live, object); err != nil {
		return object, nil, fmt.Errorf("reading %v: %w", c.ref, err)
	}
	before, changed, err := c.judge(object)
	if !changed {
		return object, nil, err
	}
	changes := narrowing{object: c.ref, schema: func() (*typed.TypedValue, error) { return c.schemaOf(ctx, c.ref.GroupVersionKind) }}
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

// change calls mutate on object. If mutate changed the identity of the object, such as its name or uid, change returns
// ErrIdentityChanged.
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
