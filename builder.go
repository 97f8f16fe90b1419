package coapply

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// watch is one call of Builder.Owns or Builder.Watches.
type watch struct {
	object     client.Object
	as         representation // how the informer represents the objects
	owned      bool           // reports whether the call is one of Owns
	everyOwner bool           // reports whether the options of Owns contain builder.MatchEveryOwner
}

// representationIn returns how a watch's informer represents objects. The arguments are those of Owns or Watches.
func representationIn[O any](object client.Object, opts []O) representation {
	if slices.ContainsFunc(opts, func(o O) bool { return any(o) == any(builder.OnlyMetadata) }) {
		return metadataOnly
	}
	return representationOf(object)
}

// checkPolicy returns an error if the policy has a path that no kind in the manager's scheme has. It accepts a field of
// any kind in the scheme, because emit (see For) may also return intents for kinds that were not given to Owns or
// Watches. If a kind given to Owns or Watches is not in the scheme, checkPolicy cannot know its fields, and accepts
// every path.
func (b *Builder[P]) checkPolicy() error {
	scheme := b.rt.mgr.GetScheme()
	for _, w := range b.watches {
		if kind, err := b.kindOf(w.object); err != nil || !scheme.Recognizes(kind) { //nolint:misspell // the method's name
			return err
		}
	}
	types := slices.DeleteFunc(slices.Collect(maps.Values(scheme.AllKnownTypes())), func(t reflect.Type) bool {
		return !reflect.PointerTo(t).Implements(reflect.TypeFor[client.Object]())
	})
	if err := b.policy.CheckPaths(types...); err != nil {
		return fmt.Errorf("%w; correct the path, or, if the field belongs to a kind outside of the manager's scheme, register the kind in the scheme", err)
	}
	return nil
}

func (b *Builder[P]) kindOf(object client.Object) (schema.GroupVersionKind, error) {
	kind, err := apiutil.GVKForObject(object, b.rt.mgr.GetScheme())
	if err != nil {
		err = fmt.Errorf("the kind of %T is not in the manager's scheme: call the AddToScheme of its API package before the manager is created: %w", object, err)
	}
	return kind, err
}

// ReadsStatus is an option of Builder.Owns. With this option, every change of a child leads to a reconcile of the
// parent, even if only the child's status changes. Use ReadsStatus if a function given to Builder.Status or
// Builder.Belongs reads the status of the children.
var ReadsStatus builder.OwnsOption = readsStatus{}

type readsStatus struct{}

// ApplyToOwns implements builder.OwnsOption, and does nothing. The option takes effect in ownsOptions.
func (readsStatus) ApplyToOwns(*builder.OwnsInput) {}

// ownsOptions returns the options for the Owns method of controller-runtime's builder. They include the predicate
// childChanged, unless the caller has given ReadsStatus.
func ownsOptions(fieldManager string, opts []builder.OwnsOption) []builder.OwnsOption {
	if slices.Contains(opts, ReadsStatus) {
		return opts
	}
	return append([]builder.OwnsOption{builder.WithPredicates(childChanged(fieldManager))}, opts...)
}

// childChanged returns the default predicate for updates of a child. An update leads to a reconcile of the parent if it
// changes more than the child's status, or if it changes the set of fields that the field manager owns. For a kind
// without a generation, such as ConfigMap, every update leads to a reconcile.
func childChanged(fieldManager string) predicate.Predicate {
	return predicate.Or(
		predicate.GenerationChangedPredicate{}, // a change of the spec, or the deletion
		writtenWithoutGeneration,
		Changed(func(child client.Object) any {
			return []any{child.GetLabels(), child.GetAnnotations(), child.GetFinalizers()}
		}),
		Changed(func(child client.Object) any { return []any{child.GetOwnerReferences(), child.GetUID()} }),
		Changed(func(child client.Object) any { return entriesOf(fieldManager, child) }),
	)
}

// resynced is a predicate that accepts the updates that the cache sends periodically for unchanged objects
// (cache.Options.SyncPeriod).
var resynced = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion()
}}
