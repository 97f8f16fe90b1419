package coapply

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// check returns an error for each mistake in the builder's kinds and policy.
func (b *Builder[P]) check(parent client.Object) error {
	return errors.Join(b.checkOwned(parent), b.checkPolicy())
}

func (b *Builder[P]) checkOwned(parent client.Object) error {
	kind, err := b.kindOf(parent)
	if err != nil {
		return err
	}
	owned := map[schema.GroupKind]bool{}
	for _, o := range b.owned {
		child, err := b.kindOf(o.object)
		switch {
		case err != nil:
			return err
		case child.GroupKind() == kind.GroupKind():
			return fmt.Errorf("Owns(%T): %s is the kind of the parent, which is watched already; leave this Owns out", o.object, child.GroupKind())
		case owned[child.GroupKind()]:
			return fmt.Errorf("Owns(%T): %s is owned twice, which would queue the parent twice for each change; give both options to one Owns",
				o.object, child.GroupKind())
		}
		owned[child.GroupKind()] = true
	}
	return nil
}

// checkPolicy returns an error for a path of the policy that no kind of the manager's scheme has.
// Emit may return kinds that the builder does not know. So checkPolicy accepts a path of any kind
// in the scheme. If a watched kind has no Go type, checkPolicy accepts every path.
func (b *Builder[P]) checkPolicy() error {
	scheme := b.rt.mgr.GetScheme()
	objects := append([]client.Object{}, b.watched...)
	for _, o := range b.owned {
		objects = append(objects, o.object)
	}
	for _, object := range objects {
		if kind, err := b.kindOf(object); err != nil || !scheme.Recognizes(kind) { //nolint:misspell // the method's name
			return err
		}
	}
	var types []reflect.Type
	for _, t := range scheme.AllKnownTypes() {
		if reflect.PointerTo(t).Implements(reflect.TypeFor[client.Object]()) {
			types = append(types, t)
		}
	}
	if err := b.policy.CheckPaths(types...); err != nil {
		return fmt.Errorf("%w; correct the path. If a kind outside of the manager's scheme has it, register the kind in the scheme", err)
	}
	return nil
}

// kindOf returns the kind of an object that was given to the builder.
func (b *Builder[P]) kindOf(object client.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(object, b.rt.mgr.GetScheme())
}
