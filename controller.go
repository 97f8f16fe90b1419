package coapply

import (
	"context"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
)

// Builder builds a controller around a pure function.
type Builder[P client.Object] struct {
	rt           *Runtime
	fieldManager string
	name         string
	policy       apply.Policy
	config       reconciler.Config[P]
	dependsOn    []func(P) any
	owned        []ownedKind
	resync       time.Duration
	steps        []func(*builder.Builder)
}

// For begins the controller of a kind: emit gives what one of its objects, the parent,
// calls for, from the parent alone. It is what reconciler.Config.Emit is. P is the Go type
// of the parent's kind.
func For[P client.Object](rt *Runtime, fieldManager string, emit func(parent P) ([]apply.Intent, error)) *Builder[P] {
	b := &Builder[P]{rt: rt, fieldManager: fieldManager}
	if emit != nil {
		b.config.Emit = func(parent P) (reconciler.Emission, error) {
			intents, err := emit(parent)
			return reconciler.Emission{Intents: intents}, err
		}
	}
	return b
}

// Owns watches a kind of what is emitted: a change of an object whose controller is the
// parent, see OwnedBy, leads to a reconcile of the parent, unless the reconcile would find
// nothing to do: the last one left all children as emitted, and the change concerns no field
// that the field manager owns, nor who shares it. A kind that is watched by its metadata leads
// to a reconcile with each change, and so do all kinds of a builder with Status or Belongs,
// which may look at anything, unless Reading says at what. Predicates among the options are
// asked instead.
func (b *Builder[P]) Owns(object client.Object, opts ...builder.OwnsOption) *Builder[P] {
	b.owned = append(b.owned, ownedKind{object, opts})
	return b
}

// Resync reconciles each parent about once in this time, though nothing changed: for what
// no watch tells. Parents are queued one after the other, evenly over the time, behind those
// that changed. Without it a parent is reconciled when something changes, and when
// reconciler.Report.After says.
func (b *Builder[P]) Resync(every time.Duration) *Builder[P] {
	b.resync = every
	return b
}

// Watches watches a kind, whose objects lead to the parents that the handler names.
func (b *Builder[P]) Watches(object client.Object, to handler.EventHandler, opts ...builder.WatchesOption) *Builder[P] {
	b.steps = append(b.steps, func(c *builder.Builder) { c.Watches(object, to, opts...) })
	return b
}

// OnConflict settles the conflicts of what is emitted. Without it each is rejected: it is
// told in the status, in an event and in the log.
func (b *Builder[P]) OnConflict(policy apply.Policy) *Builder[P] {
	b.policy = policy
	return b
}

// Status says what is written to the parent's status, see reconciler.Report.
func (b *Builder[P]) Status(
	status func(ctx context.Context, parent P, applied reconciler.Applied) (reconciler.Report[P], error),
) *Builder[P] {
	b.config.Status = status
	return b
}

// Finalizer ensures a finalizer on each parent before anything is applied. A parent that is
// being deleted is given to cleanup until that is done, and the finalizer goes then. cleanup
// may be nil with Prune.
func (b *Builder[P]) Finalizer(name string, cleanup func(ctx context.Context, parent P) (done bool, err error)) *Builder[P] {
	b.config.Finalizer, b.config.Cleanup = name, cleanup
	return b
}

// Prune deletes what a parent emitted before and no longer does, and all of it before the
// parent goes, in every namespace. It takes a Finalizer. See reconciler.Config.Prune.
func (b *Builder[P]) Prune() *Builder[P] {
	b.config.Prune = true
	return b
}

// Belongs reports whether an object that is there already is the parent's. Without it
// that is what has an owner reference with the parent's uid; see reconciler.Config.Belongs.
func (b *Builder[P]) Belongs(belongs func(parent P, child client.Object) bool) *Builder[P] {
	b.config.Belongs = belongs
	return b
}

// Gone is called for a parent that does not exist any more.
func (b *Builder[P]) Gone(gone func(ctx context.Context, parent types.NamespacedName) error) *Builder[P] {
	b.config.Gone = gone
	return b
}

// DependsOn names what of a parent's status or metadata emit and Status look at: its
// change leads to a reconcile, beside those of Relevant.
func (b *Builder[P]) DependsOn(fields ...func(parent P) any) *Builder[P] {
	b.dependsOn = append(b.dependsOn, fields...)
	return b
}

// Named names the controller in metrics and logs. Without it that is the kind in lower
// case; a second controller of a kind needs a name.
func (b *Builder[P]) Named(name string) *Builder[P] {
	b.name = name
	return b
}

// WithOptions sets the controller's options, such as how many parents it works on at a
// time.
func (b *Builder[P]) WithOptions(options controller.Options) *Builder[P] {
	b.steps = append(b.steps, func(c *builder.Builder) { c.WithOptions(options) })
	return b
}

// Complete adds the controller to the manager.
func (b *Builder[P]) Complete() error {
	parent := reflect.New(reflect.TypeFor[P]().Elem()).Interface().(client.Object)
	if err := b.rt.watchObjects(parent, b.owned); err != nil {
		return b.wrap(fmt.Errorf("watching for fights: %w", err))
	}
	r, err := b.reconciler()
	if err != nil {
		return err
	}
	c := ctrl.NewControllerManagedBy(b.rt.mgr).For(parent, builder.WithPredicates(Relevant(b.fieldManager, b.dependsOn...)))
	if err := b.wake(c, parent, r.Settled); err != nil {
		return b.wrap(err)
	}
	for _, step := range b.steps {
		step(c)
	}
	if b.name != "" {
		c.Named(b.name)
	}
	return b.wrap(c.Complete(r))
}

// wake adds what leads to a reconcile beside the parent: its children, and time.
func (b *Builder[P]) wake(c *builder.Builder, parent client.Object, settled func(types.NamespacedName, types.UID) bool) error {
	kind, err := b.rt.mgr.GetClient().GroupVersionKindFor(parent)
	if err != nil {
		return err
	}
	for _, o := range b.owned {
		reads, named := o.reading()
		if (b.config.Status != nil || b.config.Belongs != nil) && !named {
			c.Owns(o.object, o.opts...)
			continue
		}
		child, err := b.rt.mgr.GetClient().GroupVersionKindFor(o.object)
		if err != nil {
			return err
		}
		concerned := builder.WithPredicates(wakes{fieldManager: b.fieldManager, apiVersion: child.GroupVersion().String(),
			parent: kind.GroupKind(), settled: settled, reads: reads})
		c.Owns(o.object, append([]builder.OwnsOption{concerned}, o.opts...)...)
	}
	switch {
	case b.resync < 0:
		return fmt.Errorf("Resync(%v): give it a time above 0, or leave it out", b.resync)
	case b.resync == 0:
		return nil
	}
	parents, err := namesOf(b.rt.mgr.GetCache(), b.rt.mgr.GetScheme(), kind)
	if err != nil {
		return fmt.Errorf("listing parents to resync: %w", err)
	}
	c.WatchesRawSource(resync{parents, b.resync}.source())
	return nil
}

// Reconciler returns what Complete adds to the manager, for a test that calls it.
func (b *Builder[P]) Reconciler() (reconcile.Reconciler, error) {
	r, err := b.reconciler()
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (b *Builder[P]) reconciler() (*reconciler.Reconciler[P], error) {
	applier, err := b.rt.Applier(b.fieldManager, b.policy)
	if err != nil {
		return nil, b.wrap(err)
	}
	updater, err := b.rt.Updater(b.fieldManager)
	if err != nil {
		return nil, b.wrap(err)
	}
	config := b.config
	config.Client, config.Applier, config.Updater = b.rt.mgr.GetClient(), applier, updater
	config.Events = b.rt.mgr.GetEventRecorder(b.fieldManager)
	r, err := reconciler.New(config)
	return r, b.wrap(err)
}

func (b *Builder[P]) wrap(err error) error {
	if err != nil {
		return fmt.Errorf("coapply: the controller of %v with the field manager %q: %w", reflect.TypeFor[P](), b.fieldManager, err)
	}
	return nil
}

// OwnedBy makes a parent the controller of what is emitted, so that it is deleted with the
// parent, and Owns leads back to it. It goes into the configuration, as
// WithOwnerReferences(coapply.OwnedBy(shop, kind)): what is not in what emit returns is not
// applied. It does not reach into another namespace.
func OwnedBy(parent metav1.Object, kind schema.GroupVersionKind) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(kind.GroupVersion().String()).
		WithKind(kind.Kind).
		WithName(parent.GetName()).
		WithUID(parent.GetUID()).
		WithController(true).
		WithBlockOwnerDeletion(true)
}
