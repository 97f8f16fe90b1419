package coapply

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// controllers is the list of the controllers that were added to a Runtime's manager with Builder.Complete.
type controllers struct {
	mu    sync.Mutex
	added []addedController
}

type addedController struct{ fieldManager, name string }

// add adds a controller to the list, or returns an error if another controller in the list has the same field manager
// or the same name.
func (c *controllers) add(one addedController) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, other := range c.added {
		switch {
		case other.fieldManager == one.fieldManager:
			return fmt.Errorf("the controller %q already applies under this field manager: two controllers under one field manager "+
				"remove each other's fields, again and again; give each controller a field manager of its own", other.name)
		case other.name == one.name:
			return fmt.Errorf("another controller, with the field manager %q, already has the name %q: give this controller another name with Named",
				other.fieldManager, one.name)
		}
	}
	c.added = append(c.added, one)
	return nil
}

// remove removes a controller that could not be added to the manager.
func (c *controllers) remove(one addedController) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.added = slices.DeleteFunc(c.added, func(other addedController) bool { return other == one })
}

// check returns an error if the kinds given to Owns or the paths of the policy are invalid.
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
			return fmt.Errorf("Owns(%T): %s is the kind of the parent, which is already watched; remove this call of Owns", o.object, child.GroupKind())
		case owned[child.GroupKind()]:
			return fmt.Errorf("Owns(%T): %s was given to Owns twice, so each change of a child would enqueue the parent twice; call Owns once for the kind, with all options",
				o.object, child.GroupKind())
		}
		owned[child.GroupKind()] = true
	}
	return nil
}

// checkPolicy returns an error if the policy has a path that no kind in the manager's scheme has. It accepts a field of
// any kind in the scheme, because emit (see For) may also return intents for kinds that were not given to Owns or
// Watches. If a kind given to Owns or Watches is not in the scheme, checkPolicy cannot know its fields, and accepts
// every path.
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
		return fmt.Errorf("%w; correct the path. If the field belongs to a kind outside of the manager's scheme, register that kind in the scheme", err)
	}
	return nil
}

func (b *Builder[P]) kindOf(object client.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(object, b.rt.mgr.GetScheme())
}

// ReadsStatus is an option of Builder.Owns. With this option, every change of a child leads to a reconcile of the
// parent, even if only the child's status changes. Use ReadsStatus if a function given to Builder.Status or
// Builder.Belongs reads the status of the children.
var ReadsStatus builder.OwnsOption = readsStatus{}

type readsStatus struct{}

// ApplyToOwns implements builder.OwnsOption, and does nothing. The option takes effect in ownedKind.options.
func (readsStatus) ApplyToOwns(*builder.OwnsInput) {}

// ownedKind is one call of Builder.Owns: a kind of child objects, and the options for the watch.
type ownedKind struct {
	object client.Object
	opts   []builder.OwnsOption
}

// options returns the options for the Owns method of controller-runtime's builder. They include the predicate
// childChanged, unless the caller has given ReadsStatus.
func (o ownedKind) options(fieldManager string) []builder.OwnsOption {
	if slices.Contains(o.opts, ReadsStatus) {
		return o.opts
	}
	return append([]builder.OwnsOption{builder.WithPredicates(childChanged(fieldManager))}, o.opts...)
}

// childChanged returns the default predicate for updates of a child. An update leads to a reconcile of the parent if it
// changes more than the child's status, or if it changes the set of fields that the field manager owns. For a kind
// without a generation, such as ConfigMap, every update leads to a reconcile.
func childChanged(fieldManager string) predicate.Predicate {
	return predicate.Or(
		predicate.GenerationChangedPredicate{}, // a change of the spec, or the deletion
		writtenWithoutGeneration,
		predicate.LabelChangedPredicate{},
		predicate.AnnotationChangedPredicate{},
		Changed(func(child client.Object) any { return child.GetFinalizers() }),
		Changed(func(child client.Object) any { return child.GetOwnerReferences() }),
		Changed(func(child client.Object) any { return child.GetUID() }),
		ownEntriesChanged(fieldManager),
	)
}

// ownEntriesChanged returns a predicate that accepts an update if it changes the set of fields that the field manager
// owns.
func ownEntriesChanged(fieldManager string) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !slices.EqualFunc(entriesOf(fieldManager, e.ObjectOld), entriesOf(fieldManager, e.ObjectNew), sameFields)
	}}
}

func sameFields(a, b metav1.ManagedFieldsEntry) bool {
	return a.APIVersion == b.APIVersion && a.Operation == b.Operation && a.Subresource == b.Subresource &&
		a.FieldsV1.GetRawString() == b.FieldsV1.GetRawString()
}

// resynced is a predicate that accepts the updates that the cache sends periodically for unchanged objects
// (cache.Options.SyncPeriod).
var resynced = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion()
}}

// nameInformers registers with the Runtime the informers whose events trigger reconciles of this controller. A kind may
// have several informers. A cached object proves a no-op only if none of these informers has a newer version of the
// object (see watched).
func (b *Builder[P]) nameInformers() error {
	for _, o := range b.owned {
		if err := b.rt.watches(o.object, representationOf(o.object)); err != nil {
			return err
		}
	}
	for _, object := range b.watched {
		if err := b.rt.watches(object, representationOf(object)); err != nil {
			return err
		}
	}
	for _, object := range b.metadata {
		if err := b.rt.watches(object, metadataOnly); err != nil {
			return err
		}
	}
	return nil
}

func onlyMetadata[O any](opts []O) bool {
	return slices.ContainsFunc(opts, func(o O) bool { return any(o) == any(builder.OnlyMetadata) })
}
