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
	if c.ref.UID == "" || c.ref.ResourceVersion == "" || !c.ledger.Shows(c.ref.Key(), own, c.ref.ResourceVersion) {
		return false, nil // the caller's object has only a name, or is older than the Updater's last write
	}
	object := c.given.DeepCopyObject().(T)
	_, changed, err := c.judge(object)
	if err != nil || changed {
		return errors.Is(err, ErrIdentityChanged), err
	}
	c.result.Object = object
	return true, nil
}

// judge calls mutate, the caller's function, on the object, and reports whether mutate changed the object. before is a
// copy of the object from before the call of mutate. If mutate changed the identity of the object, such as its name or
// uid, the error is ErrIdentityChanged.
func (c *call[T]) judge(object T) (before T, changed bool, err error) {
	managed := object.GetManagedFields()
	object.SetManagedFields(nil)
	before = object.DeepCopyObject().(T)
	err = c.mutate(object)
	object.SetManagedFields(nil)
	if err == nil && identity(object) != identity(before) {
		err = ErrIdentityChanged
	}
	if err != nil {
		return before, false, fmt.Errorf("changing %v: %w", c.ref, err)
	}
	changed = !reflect.DeepEqual(before, object) && !equality.Semantic.DeepEqual(before, object) // in this order, because reflect.DeepEqual is ten times as fast
	if !changed {
		object.SetManagedFields(managed) // put back the managed fields, because the object becomes Result.Object
	}
	return before, changed, nil
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
