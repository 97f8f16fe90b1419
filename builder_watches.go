package coapply

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// ReadsStatus is an option of Builder.Owns: Status or Belongs read the status of the children of
// that kind, so each change of a child leads to a reconcile of the parent.
var ReadsStatus builder.OwnsOption = readsStatus{}

type readsStatus struct{}

// ApplyToOwns implements builder.OwnsOption. Builder.Complete looks for the option itself.
func (readsStatus) ApplyToOwns(*builder.OwnsInput) {}

// ownedKind is a kind of children.
type ownedKind struct {
	object client.Object
	opts   []builder.OwnsOption
}

// options returns the options for controller-runtime's builder.
func (o ownedKind) options(fieldManager string) []builder.OwnsOption {
	if slices.Contains(o.opts, ReadsStatus) {
		return o.opts
	}
	return append([]builder.OwnsOption{builder.WithPredicates(childChanged(fieldManager))}, o.opts...)
}

// childChanged returns the predicate for changes of a child that lead to a reconcile of its parent:
// changes of everything but the status, and of what the field manager owns. A child without a
// generation, such as a ConfigMap, passes with each change.
func childChanged(fieldManager string) predicate.Predicate {
	return predicate.Or(
		predicate.GenerationChangedPredicate{}, // the spec and the deletion
		writtenWithoutGeneration,
		predicate.LabelChangedPredicate{},
		predicate.AnnotationChangedPredicate{},
		Changed(func(child client.Object) any { return child.GetFinalizers() }),
		Changed(func(child client.Object) any { return child.GetOwnerReferences() }),
		Changed(func(child client.Object) any { return child.GetUID() }),
		ownEntriesChanged(fieldManager),
	)
}

// ownEntriesChanged passes an update that changes which fields a field manager owns.
func ownEntriesChanged(fieldManager string) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !slices.EqualFunc(entriesOf(fieldManager, e.ObjectOld), entriesOf(fieldManager, e.ObjectNew), sameFields)
	}}
}

func sameFields(a, b metav1.ManagedFieldsEntry) bool {
	return a.APIVersion == b.APIVersion && a.Operation == b.Operation && a.Subresource == b.Subresource &&
		a.FieldsV1.GetRawString() == b.FieldsV1.GetRawString()
}

// resynced passes the updates without a change that the cache sends every cache.Options.SyncPeriod.
var resynced = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion()
}}

// nameInformers names the informers that lead to reconciles, so that no apply is proven to be a
// no-op by an object that is older than the event.
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

// onlyMetadata reports whether the options of a watch have builder.OnlyMetadata.
func onlyMetadata[O any](opts []O) bool {
	return slices.ContainsFunc(opts, func(o O) bool { return any(o) == any(builder.OnlyMetadata) })
}
