package coapply

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
)

// Builder builds a controller for parent objects of the Go type P. From each parent, a pure function computes the
// intents for the parent's children, and the controller applies them. For returns a Builder.
type Builder[P client.Object] struct {
	rt           *Runtime
	fieldManager string
	name         string
	policy       apply.Policy
	config       reconciler.Config[P]
	dependsOn    []func(P) any
	watches      []watch
	steps        []func(*builder.Builder) // the calls to repeat on controller-runtime's builder
}

// For returns a Builder for a controller that reconciles parents of the Go type P. emit computes the intents for the
// children of a parent, and must use nothing but the parent: see reconciler.Config.Emit. The controller applies the
// intents under fieldManager.
func For[P client.Object](rt *Runtime, fieldManager string, emit func(parent P) ([]apply.Intent, error)) *Builder[P] {
	return &Builder[P]{rt: rt, fieldManager: fieldManager, config: reconciler.Config[P]{Emit: emit}}
}

// Owns watches a kind of child objects. A child is an object with a controller owner reference to the parent (see
// OwnedBy). A change of a child leads to a reconcile of the parent if it changes the child's generation, labels,
// annotations, finalizers, owner references or deletion, or the set of fields that the field manager owns. A change of
// the status alone leads to a reconcile only with the option ReadsStatus. For a kind without a generation, such as
// ConfigMap, every change leads to a reconcile. Predicates in opts replace these rules.
//
// An intent for an object of this kind must set an owner reference to the parent. Otherwise the reconcile returns an
// error, unless the intent has MustExist, Belongs or a Subresource, or the kind is also given to Watches. Complete
// returns an error if a kind is given to Owns twice, or if it is the kind of the parent.
func (b *Builder[P]) Owns(object client.Object, opts ...builder.OwnsOption) *Builder[P] {
	everyOwner := slices.Contains(opts, builder.OwnsOption(builder.MatchEveryOwner))
	b.watches = append(b.watches, watch{object, representationIn(object, opts), true, everyOwner})
	b.steps = append(b.steps, func(c *builder.Builder) { c.Owns(object, ownsOptions(b.fieldManager, opts)...) })
	return b
}

// Watches watches the objects of a kind. For each event of such an object, the event handler enqueues the parents to
// reconcile.
func (b *Builder[P]) Watches(object client.Object, to handler.EventHandler, opts ...builder.WatchesOption) *Builder[P] {
	b.watches = append(b.watches, watch{object: object, as: representationIn(object, opts)})
	b.steps = append(b.steps, func(c *builder.Builder) { c.Watches(object, to, opts...) })
	return b
}

// OnConflict sets the policy that decides the ownership conflicts of the intents. Without OnConflict, every conflict is
// rejected, and reported in the parent's status, in an event and in the log. If the policy has a path that no kind in
// the manager's scheme has, Complete returns an error.
func (b *Builder[P]) OnConflict(policy apply.Policy) *Builder[P] {
	b.policy = policy
	return b
}

// Status sets a function that is called after the intents of a parent were applied. The function returns the changes to
// write to the parent's status, see reconciler.Report.
func (b *Builder[P]) Status(
	status func(ctx context.Context, parent P, applied reconciler.Applied) (reconciler.Report[P], error),
) *Builder[P] {
	b.config.Status = status
	return b
}

// Finalizer makes the controller add a finalizer to each parent before it applies any intent. When a parent is being
// deleted, each reconcile calls cleanup, until cleanup returns done. Then the finalizer is removed. cleanup must be
// idempotent: after an error, a crash or a change of the leader, it is called again. With Prune, cleanup may be nil.
// Controllers of the same kind need different finalizers: Complete rejects a finalizer of another controller.
func (b *Builder[P]) Finalizer(name string, cleanup func(ctx context.Context, parent P) (done bool, err error)) *Builder[P] {
	b.config.Finalizer, b.config.Cleanup = name, cleanup
	return b
}

// Prune makes the controller delete the objects for which emit once returned an intent and no longer does. When a
// parent is being deleted, the controller deletes all objects for which emit has returned an intent, in every
// namespace. Prune needs a Finalizer. See reconciler.Config.Prune.
func (b *Builder[P]) Prune() *Builder[P] {
	b.config.Prune = true
	return b
}

// Belongs sets a function that reports whether an existing object belongs to the parent. The controller does not
// change an object that does not belong to the parent. Without Belongs, the decision depends mainly on the object's
// owner references: see reconciler.Config.Belongs.
func (b *Builder[P]) Belongs(belongs func(parent P, child client.Object) bool) *Builder[P] {
	b.config.Belongs = belongs
	return b
}

// Gone sets a function that is called in a reconcile of a parent that no longer exists.
func (b *Builder[P]) Gone(gone func(ctx context.Context, parent types.NamespacedName) error) *Builder[P] {
	b.config.Gone = gone
	return b
}

// DependsOn declares the values in the parent's status or metadata that emit and Status read. Each function returns one
// of these values. An update of the parent that changes one of these values leads to a reconcile. See also Relevant.
func (b *Builder[P]) DependsOn(fields ...func(parent P) any) *Builder[P] {
	b.dependsOn = append(b.dependsOn, fields...)
	return b
}

// Named sets the controller's name in metrics and logs. The default is the parent's kind in lower
// case. A second controller for the same kind needs another name.
func (b *Builder[P]) Named(name string) *Builder[P] {
	b.name = name
	return b
}

// WithOptions sets the controller's options, such as MaxConcurrentReconciles.
func (b *Builder[P]) WithOptions(options controller.Options) *Builder[P] {
	b.steps = append(b.steps, func(c *builder.Builder) { c.WithOptions(options) })
	return b
}

// Complete adds the controller to the manager. If another controller of the Runtime has the same field manager,
// Complete returns an error and adds nothing. The same applies if another controller of the process has the same name,
// except with the option SkipNameValidation. (A Client, an Applier or an Updater may have the same field manager as the
// controller, for example to write the status.)
func (b *Builder[P]) Complete() error {
	r, err := b.Reconciler()
	if err != nil {
		return err
	}
	name := cmp.Or(b.name, strings.ToLower(reflect.TypeFor[P]().Elem().Name()))
	if other, taken := b.rt.controllers.LoadOrStore(b.fieldManager, name); taken {
		return b.wrap(fmt.Errorf("the controller %q already applies under this field manager: two controllers under one field manager "+
			"remove each other's fields, again and again; give each controller a field manager of its own", other))
	}
	finalizer := finalizerOf{reflect.TypeFor[P](), b.config.Finalizer}
	if other, taken := b.rt.controllers.LoadOrStore(finalizer, name); taken && finalizer.name != "" {
		b.rt.controllers.Delete(b.fieldManager)
		return b.wrap(fmt.Errorf("the controller %q of the same kind already has the finalizer %s: the first of the two that is done would remove "+
			"the finalizer before the other one has cleaned up; give each controller a finalizer of its own", other, finalizer.name))
	}
	if err := b.complete(r); err != nil {
		b.rt.controllers.Delete(b.fieldManager)
		b.rt.controllers.Delete(finalizer)
		return b.wrap(fmt.Errorf("adding the controller to the manager: %w; if another controller of the process has the name %q, "+
			"give this controller another name with Named (with SkipNameValidation, the two controllers would share their metrics)", err, name))
	}
	return nil
}

// finalizerOf is the finalizer that a controller adds to the objects of a kind.
type finalizerOf struct {
	parent reflect.Type
	name   string
}

func (b *Builder[P]) complete(r reconcile.Reconciler) error {
	c := ctrl.NewControllerManagedBy(b.rt.mgr).Named(b.name).For(newParent[P](), builder.WithPredicates(b.relevant()))
	for _, step := range b.steps {
		step(c)
	}
	for _, w := range b.watches {
		if err := b.rt.watches(w.object, w.as, nil); err != nil {
			return err
		}
	}
	return c.Complete(r)
}

// relevant returns the predicate for updates of the parent. Without Status and Finalizer, the controller never writes
// to the parent by Update, so that relevantToApplier is sufficient.
func (b *Builder[P]) relevant() predicate.Predicate {
	if b.config.Status == nil && b.config.Finalizer == "" {
		return predicate.Or(resynced, relevantToApplier(b.fieldManager, b.dependsOn...))
	}
	finalizer := b.config.Finalizer
	return predicate.Or(resynced, Relevant(b.fieldManager, b.dependsOn...), Changed(func(object client.Object) any {
		return finalizer != "" && slices.Contains(object.GetFinalizers(), finalizer)
	}))
}

func newParent[P client.Object]() client.Object {
	return reflect.New(reflect.TypeFor[P]().Elem()).Interface().(client.Object)
}

// Reconciler returns the reconciler that Complete adds to the manager, for tests.
func (b *Builder[P]) Reconciler() (_ reconcile.Reconciler, err error) {
	defer func() { err = b.wrap(err) }()
	config := b.config
	if config.Applier, err = b.rt.Applier(b.fieldManager, b.policy); err != nil {
		return nil, err
	}
	if config.Updater, err = b.rt.Updater(b.fieldManager); err != nil {
		return nil, err
	}
	config.Client, config.Events = b.rt.mgr.GetClient(), b.rt.mgr.GetEventRecorder(b.fieldManager)
	r, err := reconciler.New(config)
	if err != nil {
		return nil, err
	}
	owners, err := b.ownerCheck()
	if err == nil {
		err = b.checkPolicy()
	}
	if err != nil {
		return nil, err
	}
	r.Emit = func(parent P) ([]apply.Intent, error) {
		intents, err := config.Emit(parent)
		if err != nil {
			return nil, err
		}
		return intents, owners.of(parent, intents)
	}
	return r, nil
}

func (b *Builder[P]) wrap(err error) error {
	if err != nil {
		return fmt.Errorf("coapply: building the controller of %v with the field manager %q: %w", reflect.TypeFor[P](), b.fieldManager, err)
	}
	return nil
}

// OwnedBy returns an owner reference that makes parent the controller of a child. The child is then deleted with the
// parent, and Owns finds the parent of the child. kind is the kind of the parent. emit has to put the owner reference
// into the child's apply configuration: WithOwnerReferences(coapply.OwnedBy(shop, kind)). If the parent has a
// namespace, the child must be in the same namespace. Otherwise each reconcile of a controller built with For returns
// an error. For children without an owner reference, use Prune with a Finalizer.
func OwnedBy(parent metav1.Object, kind schema.GroupVersionKind) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(kind.GroupVersion().String()).
		WithKind(kind.Kind).
		WithName(parent.GetName()).
		WithUID(parent.GetUID()).
		WithController(true).
		WithBlockOwnerDeletion(true)
}
