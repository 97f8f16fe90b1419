package reconciler

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
	"coapply.dev/apply/update"
	"coapply.dev/internal/recent"
)

// PausedAnnotation with the value "true" on a parent stops its reconciliation.
const PausedAnnotation = "coapply.dev/paused"

// Emission is what a parent calls for.
type Emission struct {
	// Intents are applied in this order.
	Intents []apply.Intent
}

// Applied is what became of an Emission.
type Applied struct {
	Outcomes []apply.Outcome // one per intent, in their order
	Errs     []error         // non-nil errors: of emitting, of each intent, and of pruning
	Pruned   applyset.Pruned // with Config.Prune: what became of objects that are no longer emitted
}

// Report is what a Status function wants to be written.
type Report[P client.Object] struct {
	// Change sets the status fields that this reconciler writes, on the parent as it is by
	// then. They are written by the Updater (get-modify-update). nil writes nothing.
	Change func(parent P) error
	// Apply is an alternative to Change: the status as an apply configuration of the parent,
	// with every status field that this reconciler owns, applied by the Applier. Make its
	// conditions by apply.Conditions.
	Apply runtime.ApplyConfiguration
	// Then is called after the status has landed, for what must not happen before. It may be
	// nil.
	Then func(ctx context.Context) error
	// After is the time until the next reconcile if nothing changes, for what depends on the
	// clock; 0 for none.
	After time.Duration
}

// Config configures a Reconciler.
type Config[P client.Object] struct {
	// Client reads the parent, from the cache.
	Client client.Reader
	// Applier applies what is emitted.
	Applier *apply.Applier
	// Updater writes the finalizer, and the status of Report.Change, usually under the
	// Applier's field manager.
	Updater *update.Updater
	// Emit returns the intents of a parent. Emit must not change the parent. If Emit is called
	// again at once, it must return the same intents. In the first reconciles of each parent,
	// Emit is called twice. If an object or a field differs between the two results, the
	// reconcile returns an error that matches ErrNotPure.
	Emit func(parent P) (Emission, error)
	// Belongs reports whether an object that exists already is a child of this parent. Children
	// are created exclusively. An object that somebody else created, before or at the same time,
	// is not changed, and is reported (apply.NotOursError, the reason NameTaken).
	//
	// If Belongs is nil, an object with owners is a child if one of its owner references has the
	// parent's uid. An object without owners is a child in these cases. With Prune: if the object
	// has the label of the parent's set. Without Prune: if the applier's field manager has
	// applied to the object, and the intent sets no owner reference. Prune also adopts an object
	// without owners and without any set's label. The condition is that, by the live object, only
	// the applier's field manager wrote the object.
	//
	// A Belongs that is set is also called with the objects of intents with MustExist: if it
	// returns false, the Outcome is Absent.
	Belongs func(parent P, child client.Object) bool
	// Prune deletes what a parent emitted before and no longer does: the parent and
	// what it emits become an ApplySet, see applyset.Sets for what that costs and
	// which rights it needs. Only one reconciler can prune for a parent. Nothing is deleted
	// when anything of an emission failed. Prune needs a Finalizer: what a parent emitted is
	// deleted before the parent, in every namespace, and not by the garbage collector.
	Prune bool

	// Finalizer is added to each parent, unless it is "". It needs Cleanup, Prune or both.
	Finalizer string
	// Cleanup is called for a parent that is being deleted until it returns done; then the
	// finalizer is removed. What it waits for must lead to another reconcile. With Prune,
	// Cleanup may be nil; once it returns done, what was emitted is deleted, and it is called
	// again while some of that is left.
	Cleanup func(ctx context.Context, parent P) (done bool, err error)
	// Status returns what to write to the parent's status after the intents were applied. It
	// may be nil.
	Status func(ctx context.Context, parent P, applied Applied) (Report[P], error)
	// Gone is called for a parent that does not exist any more. It may be nil.
	Gone func(ctx context.Context, parent types.NamespacedName) error
	// Events records events about conflicts and pruning. It may be nil.
	Events events.EventRecorder
}

func (c Config[P]) validate() error {
	var errs []error
	needed := func(missing bool, what string) {
		if missing {
			errs = append(errs, errors.New(what+" is needed"))
		}
	}
	needed(c.Client == nil, "Client")
	needed(c.Applier == nil, "Applier")
	needed(c.Emit == nil, "Emit")
	needed(c.Updater == nil && c.Finalizer != "", "Updater, for the finalizer,")
	needed(c.Finalizer == "" && c.Cleanup != nil, "Finalizer, for Cleanup,")
	needed(c.Finalizer == "" && c.Prune, "Finalizer, for Prune: what a parent emitted is deleted before it goes,")
	needed(c.Finalizer != "" && c.Cleanup == nil && !c.Prune, "Cleanup or Prune, for the finalizer,")
	if c.Finalizer != "" {
		errs = append(errs, update.ValidFinalizer(c.Finalizer))
	}
	switch p := reflect.TypeFor[P](); {
	case p.Kind() != reflect.Pointer:
		errs = append(errs, fmt.Errorf("the parent's type is %v, want a pointer", p))
	case p.Implements(reflect.TypeFor[runtime.Unstructured]()), p == reflect.TypeFor[*metav1.PartialObjectMetadata]():
		errs = append(errs, fmt.Errorf("the parent's type is %v, which says no kind: want the Go type of the parent's kind", p))
	}
	return errors.Join(errs...)
}

// Reconciler is a reconcile.Reconciler around a pure Emit.
type Reconciler[P client.Object] struct {
	Config[P]

	sets    *applyset.Sets // nil: nothing is pruned
	news    news
	checked *recent.Cache[types.UID, int]      // for each parent, how many double calls of Emit returned the same intents
	deleted *recent.Cache[types.UID, struct{}] // parents that only the cache still has
}

const rememberedDeleted = 8192

// New returns a Reconciler. P is the Go type of the parent's kind; a type for any kind, such as
// *unstructured.Unstructured, is refused.
func New[P client.Object](config Config[P]) (*Reconciler[P], error) {
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("reconciler: %w", err)
	}
	r := &Reconciler[P]{Config: config, news: newNews(),
		checked: recent.New[types.UID, int](rememberedChecks), deleted: recent.New[types.UID, struct{}](rememberedDeleted)}
	if !config.Prune {
		return r, nil
	}
	var err error
	if r.sets, err = applyset.New(config.Applier); err != nil {
		return nil, fmt.Errorf("reconciler: %w", err)
	}
	return r, nil
}

// Reconcile brings the children and the status of one parent up to date. See the
// package comment for the order and for what becomes of errors.
func (r *Reconciler[P]) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	parent, err := r.read(ctx, request.NamespacedName)
	if err != nil {
		if apierrors.IsNotFound(err) {
			err = r.gone(ctx, request.NamespacedName)
		}
		return Requeue(ctx, err)
	}
	if _, deleted := r.deleted.Get(parent.GetUID()); deleted { // the garbage collector would delete each child at once, which would lead here again
		return reconcile.Result{}, nil
	}
	if ended, result, err := r.ends(ctx, parent); ended {
		return result, err
	}
	uid := parent.GetUID()
	parent, added, err := r.ensureFinalizer(ctx, parent)
	isNew, since := r.news.about(trouble{uid, "", "finalizer"}, err)
	switch {
	case err != nil:
		return requeue(ctx, isNew, since, err)
	case added:
		return reconcile.Result{RequeueAfter: atOnce}, nil
	}
	if ended, result, err := r.ends(ctx, parent); ended { // the parent as it is now: the cache may have been behind
		return result, err
	}
	applied := r.apply(ctx, parent)
	isNew, since = r.news.about(trouble{parent.GetUID(), "", "errors"}, applied.Errs...)
	r.tell(parent, applied, isNew)
	r.tellUnread(trouble{parent.GetUID(), "", "unread"}, parent, applied.Outcomes)
	after, err := r.writeStatus(ctx, parent, applied)
	unwritten, unwrittenSince := r.news.about(trouble{parent.GetUID(), statusPart, "written"}, err)
	if err != nil {
		applied.Errs = append(slices.Clip(applied.Errs), err)
		isNew, since = isNew || unwritten, max(since, unwrittenSince)
	}
	result, err := requeue(ctx, isNew, since, applied.Errs...)
	if err == nil && after > 0 && (result.RequeueAfter == 0 || after < result.RequeueAfter) {
		result.RequeueAfter = after
	}
	return result, err
}

// withoutCopy makes a read return the cache's own object.
var withoutCopy = &client.GetOptions{UnsafeDisableDeepCopy: new(true)}

// read returns a copy of the parent as the cache has it, so that Emit and Status cannot change
// the cache. The entries of its managed fields are shared with the cache: they are most of many
// objects, and nobody writes to them.
func (r *Reconciler[P]) read(ctx context.Context, name types.NamespacedName) (P, error) {
	parent := reflect.New(reflect.TypeFor[P]().Elem()).Interface().(P)
	if err := r.Client.Get(ctx, name, parent, withoutCopy); err != nil {
		return parent, err
	}
	managed := parent.GetManagedFields()
	parent.SetManagedFields(nil)
	parent = parent.DeepCopyObject().(P)
	parent.SetManagedFields(slices.Clone(managed))
	if kind, err := r.Applier.Client().GroupVersionKindFor(parent); err == nil {
		parent.GetObjectKind().SetGroupVersionKind(kind) // the cache's own may have none
	}
	return parent, nil
}

// atOnce is the RequeueAfter that puts a parent back into the queue at once. (Result.Requeue is
// deprecated, and a RequeueAfter of 0 means none.)
const atOnce = time.Nanosecond

func (r *Reconciler[P]) gone(ctx context.Context, parent types.NamespacedName) error {
	if r.Gone == nil {
		return nil
	}
	return r.Gone(ctx, parent)
}

// ends reports whether the reconcile ends before anything is emitted, because the parent is
// paused or being deleted, and returns its result.
func (r *Reconciler[P]) ends(ctx context.Context, parent P) (bool, reconcile.Result, error) {
	switch {
	case parent.GetAnnotations()[PausedAnnotation] == "true":
		logr.FromContextOrDiscard(ctx).Info("paused", "annotation", PausedAnnotation)
		return true, reconcile.Result{}, nil
	case parent.GetDeletionTimestamp() != nil:
		result, err := r.finalize(ctx, parent)
		return true, result, err
	}
	return false, reconcile.Result{}, nil
}

// ensureFinalizer returns the parent as the Updater last knows it, as the cache may be behind,
// and reports whether the finalizer had to be added.
func (r *Reconciler[P]) ensureFinalizer(ctx context.Context, parent P) (P, bool, error) {
	if r.Finalizer == "" {
		return parent, false, nil
	}
	result, err := update.EnsureFinalizer(ctx, r.Updater, parent, r.Finalizer)
	return result.Object, result.Changed, err
}

func (r *Reconciler[P]) apply(ctx context.Context, parent P) Applied {
	if r.sets != nil {
		return r.applyAndPrune(ctx, parent)
	}
	intents, err := r.emit(ctx, parent)
	if err != nil {
		return Applied{Errs: []error{fmt.Errorf("emitting: %w", err)}}
	}
	var applied Applied
	seen := map[part]error{}
	for _, intent := range intents {
		outcome, err := r.applyOne(ctx, intent, seen)
		applied.Outcomes = append(applied.Outcomes, outcome)
		if err != nil {
			applied.Errs = append(applied.Errs, err)
		}
	}
	return applied
}

// part names an object or a subresource that an intent is for.
type part struct {
	object      apply.ObjectRef
	subresource string
}

// applyOne applies an intent, unless there was one for the same object: each would give up what
// only the other one lists. It does not apply to an object, or a subresource of it, that has
// just turned out to be someone else's.
func (r *Reconciler[P]) applyOne(ctx context.Context, intent apply.Intent, seen map[part]error) (apply.Outcome, error) {
	object, err := intent.Object()
	if err != nil {
		return apply.Outcome{}, err
	}
	object.UID = ""
	this := part{object, intent.Subresource}
	if taken := seen[part{object, ""}]; errors.Is(taken, apply.ErrNotOurs) {
		return apply.Outcome{Object: object}, taken
	}
	if _, twice := seen[this]; twice {
		return apply.Outcome{Object: object}, &apply.IntentError{Object: object,
			Err: errors.New("two intents for one object: put all its fields into one intent, as each apply removes the fields that it does not list")}
	}
	outcome, err := r.Applier.Apply(ctx, intent)
	seen[this] = err
	return outcome, err
}

func (r *Reconciler[P]) applyAndPrune(ctx context.Context, parent P) Applied {
	var applied Applied
	round := r.sets.Apply(ctx, parent, func() ([]apply.Intent, error) { return r.emit(ctx, parent) })
	applied.Outcomes, applied.Errs = round.Outcomes, round.Errs
	if len(applied.Errs) > 0 {
		return applied
	}
	pruned, err := round.Prune(ctx)
	applied.Pruned = pruned
	if several, ok := errors.AsType[*applyset.PruneError](err); ok {
		applied.Errs = several.Errs // each has its own time to be tried again
	} else if err != nil {
		applied.Errs = []error{err}
	}
	return applied
}

// writeStatus calls Status and writes its Report. It returns when to reconcile again, and what
// went wrong.
func (r *Reconciler[P]) writeStatus(ctx context.Context, parent P, applied Applied) (time.Duration, error) {
	if r.Status == nil {
		return 0, nil
	}
	report, err := r.Status(ctx, parent, applied)
	if err != nil {
		return 0, fmt.Errorf("status: %w", err)
	}
	gone, err := r.land(ctx, parent, report)
	switch {
	case gone: // Gone follows, or the next parent
		r.deleted.Put(parent.GetUID(), struct{}{})
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("status: %w", err)
	}
	if report.Then != nil {
		err = report.Then(ctx)
	}
	return report.After, err
}

// land writes the status, pinned to the parent's uid. gone reports whether the write failed
// because the parent no longer exists.
func (r *Reconciler[P]) land(ctx context.Context, parent P, report Report[P]) (gone bool, err error) {
	switch {
	case report.Change != nil && report.Apply != nil:
		return false, errors.New("the report has both Change and Apply")
	case report.Change != nil && r.Updater == nil:
		return false, errors.New("Change needs an Updater")
	case report.Change != nil:
		var changeErr error // an error of report.Change says nothing about the existence of the parent
		_, err = update.Status(ctx, r.Updater, parent, func(parent P) error {
			changeErr = report.Change(parent)
			return changeErr
		})
		return changeErr == nil && (apierrors.IsNotFound(err) || errors.Is(err, apply.ErrUIDMismatch)), err
	case report.Apply != nil:
		outcome, err := r.Applier.Apply(ctx, apply.Intent{Config: report.Apply, Subresource: statusPart, UID: parent.GetUID()})
		of := trouble{parent.GetUID(), statusPart, "errors"}
		outcomes := []apply.Outcome{outcome}
		r.tell(parent, Applied{Outcomes: outcomes, Errs: []error{err}}, r.news.isNew(of, err))
		r.tellUnread(trouble{parent.GetUID(), statusPart, "unread"}, parent, outcomes)
		return errors.Is(err, apply.ErrUIDMismatch), err
	}
	return false, nil
}
