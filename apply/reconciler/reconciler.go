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

// PausedAnnotation is an annotation of parents. While its value is "true", the parent is not
// reconciled.
const PausedAnnotation = "coapply.dev/paused"

// Emission is the result of Config.Emit for one parent.
type Emission struct {
	// Intents are the intents to apply, in this order.
	Intents []apply.Intent
}

// Applied is the result of applying the Emission of one parent in one reconcile.
type Applied struct {
	Outcomes []apply.Outcome // one for each intent, in the same order
	Errs     []error         // the errors of emitting, of each intent, and of pruning; none is nil
	Pruned   applyset.Pruned // with Config.Prune: the objects that are no longer emitted
}

// Report is the result of Config.Status: a change of the parent's status, and what to do after the write.
type Report[P client.Object] struct {
	// Change sets, in the live parent, the status fields that this reconciler writes. The Updater writes
	// the changed status by get-modify-update. If Change is nil, the Updater writes nothing.
	Change func(parent P) error
	// Apply is an alternative to Change: an apply configuration of the parent, with all status fields
	// that this reconciler owns, for the Applier to apply. Make its conditions with apply.Conditions.
	Apply runtime.ApplyConfiguration
	// Then is called after the status was written. It may be nil.
	Then func(ctx context.Context) error
	// After is the time until the next reconcile if no event causes an earlier one. Set it if the
	// status depends on the clock. 0 means that no reconcile is scheduled.
	After time.Duration
}

// Config configures a Reconciler.
type Config[P client.Object] struct {
	// Client reads the parent, from the cache.
	Client client.Reader
	// Applier applies the intents.
	Applier *apply.Applier
	// Updater writes the finalizer and the status of Report.Change. It usually has the Applier's
	// field manager.
	Updater *update.Updater
	// Emit returns the intents of a parent. Emit must not change the parent. If Emit is called
	// again at once, it must return the same intents. In the first reconciles of each parent,
	// Emit is called twice. If an object or a field differs between the two results, the
	// reconcile returns an error that matches ErrNotPure.
	Emit func(parent P) (Emission, error)
	// Belongs reports whether an object that already exists is a child of this parent. If Belongs
	// returns false, the object is not changed, even if it was created at the same time, and is
	// reported as an object of someone else (apply.NotOursError, the reason NameTaken).
	//
	// If Belongs is nil, an object with owners is a child if one of its owner references has the
	// parent's uid. An object without owners is a child in these cases. With Prune: if the object
	// has the label of the parent's set. Without Prune: if the applier's field manager has
	// applied to the object, and the intent sets no owner reference. Prune also adopts an object
	// without owners and without any set's label. The condition is that, by the live object, only
	// the applier's field manager wrote the object.
	//
	// If Belongs is set, it is also called for intents with MustExist: if it returns false, the
	// Outcome is Absent.
	Belongs func(parent P, child client.Object) bool
	// Prune makes the reconciler delete objects that a parent emitted before and no longer emits. The
	// parent and its objects become an ApplySet; see applyset.Sets for the cost and the required
	// permissions. Only one reconciler can prune for a parent. If an intent fails, nothing is deleted.
	// Prune needs a Finalizer: when the parent is deleted, the reconciler deletes the parent's objects in
	// all namespaces before the parent, and does not leave them to the garbage collector.
	Prune bool

	// Finalizer is the finalizer that is added to each parent, or "". A Finalizer needs Cleanup or Prune.
	Finalizer string
	// Cleanup is called in each reconcile of a parent that is being deleted. When it returns done,
	// the finalizer is removed. If Cleanup does not return done, a watch must cause the next reconcile.
	// With Prune, Cleanup may be nil. With Prune, the members of the parent's set are deleted after
	// Cleanup returned done, and Cleanup is called again while such members exist.
	Cleanup func(ctx context.Context, parent P) (done bool, err error)
	// Status is called after the intents were applied. It returns what to write to the parent's
	// status. It may be nil.
	Status func(ctx context.Context, parent P, applied Applied) (Report[P], error)
	// Gone is called if the parent of a reconcile request does not exist. It may be nil.
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
	needed(c.Updater == nil && c.Finalizer != "", "Updater (to write the Finalizer)")
	needed(c.Finalizer == "" && c.Cleanup != nil, "Finalizer (for Cleanup)")
	needed(c.Finalizer == "" && c.Prune, "Finalizer (for Prune, which deletes the objects of a parent before the parent)")
	needed(c.Finalizer != "" && c.Cleanup == nil && !c.Prune, "Cleanup or Prune (for the Finalizer)")
	if c.Finalizer != "" {
		errs = append(errs, update.ValidFinalizer(c.Finalizer))
	}
	switch p := reflect.TypeFor[P](); {
	case p.Kind() != reflect.Pointer:
		errs = append(errs, fmt.Errorf("the parent's type is %v, want a pointer", p))
	case p.Implements(reflect.TypeFor[runtime.Unstructured]()), p == reflect.TypeFor[*metav1.PartialObjectMetadata]():
		errs = append(errs, fmt.Errorf("the parent's type is %v, which does not determine a kind: use the Go type of the parent's kind", p))
	}
	return errors.Join(errs...)
}

// Reconciler is a reconcile.Reconciler that applies the intents returned by Config.Emit.
type Reconciler[P client.Object] struct {
	Config[P]

	sets    *applyset.Sets // nil without Config.Prune
	news    news
	checked *recent.Cache[types.UID, int]      // by the parent's uid: how often Emit was called twice and was pure
	deleted *recent.Cache[types.UID, struct{}] // the uids of parents that are deleted, but may still be in the cache
}

const rememberedDeleted = 8192

// New returns a Reconciler. P is the Go type of the parent's kind. New returns an error if the Config is
// not valid, or if P does not determine a kind, such as *unstructured.Unstructured.
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

// Reconcile updates the children and the status of one parent. The package comment describes its
// steps and how it handles errors.
func (r *Reconciler[P]) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	parent, err := r.read(ctx, request.NamespacedName)
	if err != nil {
		if apierrors.IsNotFound(err) {
			err = r.gone(ctx, request.NamespacedName)
		}
		return Requeue(ctx, err)
	}
	if _, deleted := r.deleted.Get(parent.GetUID()); deleted { // the garbage collector would delete new children at once, and cause a reconcile
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
	if ended, result, err := r.ends(ctx, parent); ended { // ensureFinalizer may have read the live parent
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

// withoutCopy makes a read return the cached object itself, not a copy.
var withoutCopy = &client.GetOptions{UnsafeDisableDeepCopy: new(true)}

// read returns a copy of the cached parent, so that Emit and Status cannot change the cache. Only
// the managed fields entries are shared with the cache. They are the largest part of many objects,
// and are never changed.
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
		parent.GetObjectKind().SetGroupVersionKind(kind) // the cached parent may have no kind
	}
	return parent, nil
}

// atOnce is a RequeueAfter that starts the next reconcile at once. Result.Requeue is deprecated, and
// a RequeueAfter of 0 means that no reconcile is scheduled.
const atOnce = time.Nanosecond

func (r *Reconciler[P]) gone(ctx context.Context, parent types.NamespacedName) error {
	if r.Gone == nil {
		return nil
	}
	return r.Gone(ctx, parent)
}

// ends reports whether the reconcile ends without a call of Emit, because the parent is paused or
// being deleted. If so, it returns the result of the reconcile.
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

// ensureFinalizer adds the finalizer if the parent lacks it, and reports whether it was added. It returns
// the parent as read or written by the Updater, which may be newer than the cached parent.
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

// part identifies the object, or the subresource of an object, that an intent is for.
type part struct {
	object      apply.ObjectRef
	subresource string
}

// applyOne applies one intent of a reconcile. It returns an error if the reconcile already had an intent
// for the same object: each of the two intents would remove the fields that only the other intent lists.
// If an earlier intent failed because the object is someone else's (apply.ErrNotOurs), an intent for a
// subresource of the object returns the same error.
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
			Err: errors.New("two intents for one object: put all its fields into one intent, as each apply removes the fields that its intent does not list")}
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
		applied.Errs = several.Errs // each error has its own wait
	} else if err != nil {
		applied.Errs = []error{err}
	}
	return applied
}

// writeStatus calls Config.Status and writes its Report. It returns Report.After, and the error of
// Status, of the write or of Report.Then.
func (r *Reconciler[P]) writeStatus(ctx context.Context, parent P, applied Applied) (time.Duration, error) {
	if r.Status == nil {
		return 0, nil
	}
	report, err := r.Status(ctx, parent, applied)
	if err != nil {
		return 0, fmt.Errorf("computing the status: %w", err)
	}
	gone, err := r.land(ctx, parent, report)
	switch {
	case gone: // the cache will cause a reconcile that calls Config.Gone or finds a new parent
		r.deleted.Put(parent.GetUID(), struct{}{})
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("writing the status: %w", err)
	}
	if report.Then != nil {
		err = report.Then(ctx)
	}
	return report.After, err
}

// land writes the status in report, if the live parent still has the uid of parent. gone reports whether
// the write failed because the parent no longer exists.
func (r *Reconciler[P]) land(ctx context.Context, parent P, report Report[P]) (gone bool, err error) {
	switch {
	case report.Change != nil && report.Apply != nil:
		return false, errors.New("the Report has both Change and Apply: set only one of them")
	case report.Change != nil && r.Updater == nil:
		return false, errors.New("Report.Change needs an Updater, but Config.Updater is nil")
	case report.Change != nil:
		var changeErr error // its type does not show whether the parent exists
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
