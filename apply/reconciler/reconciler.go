package reconciler

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
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

// PausedAnnotation is an annotation of parent objects. While its value is "true", the parent is not reconciled.
const PausedAnnotation = "coapply.dev/paused"

// Applied is the result of applying the intents of one parent in one reconcile.
type Applied struct {
	Outcomes []apply.Outcome // one for each intent, in the same order
	Errs     []error         // the errors of Emit, of each apply, and of pruning; none is nil
	Pruned   applyset.Pruned // with Config.Prune: what was done with the objects that have no intent any more
}

// Report is the result of Config.Status: what to write to the parent's status, and what to do after the write. At most
// one of Change and Apply may be set.
type Report[P client.Object] struct {
	// Change sets the status fields that this reconciler writes by get-modify-update. Config.Updater first calls
	// Change with a copy of the parent. If Change changes the copy, the Updater calls it with the live parent, and writes.
	Change func(parent P) error
	// Apply is an apply configuration of the parent that contains all status fields of this reconciler. Config.Applier
	// applies it to the status. Use apply.Conditions to make the conditions.
	Apply runtime.ApplyConfiguration
	// Then is called after the status was written. It may be nil.
	Then func(ctx context.Context) error
	// After is the time after which the parent is reconciled again, even without an event. Set it if the status depends
	// on the clock. 0 means that no reconcile is scheduled.
	After time.Duration
}

// Config configures a Reconciler.
type Config[P client.Object] struct {
	// Client reads the parents, from the cache.
	Client client.Reader
	// Applier applies the intents.
	Applier *apply.Applier
	// Updater writes the finalizer, and the status if Report.Change is set. It usually has the same field manager as
	// the Applier.
	Updater *update.Updater
	// Emit computes the intents for a parent's children, in the order in which to apply them. It must be pure: it must
	// not change the parent, and must return the same intents each time for the same parent. In the first reconciles of
	// a Reconciler, Emit is called twice. If an object or a field differs between the two results, the reconcile returns
	// an error that matches ErrNotPure.
	Emit func(parent P) ([]apply.Intent, error)
	// Belongs reports whether an existing object with the name in an intent belongs to this parent. If it returns
	// false, the object is not changed, even if somebody else created it during the apply of the intent. The error is
	// an apply.NotOursError, and the reason of the condition is NameTaken.
	//
	// If Belongs is nil, this default applies:
	//   - An object with owner references belongs to the parent if one of them has the parent's uid.
	//   - With Prune, an object without owner references belongs to the parent if it has the label of the parent's set.
	//     An object without the label of any set is adopted if the Applier's field manager has applied to the live object
	//     and is its only writer. Writes through subresources do not count.
	//   - Without Prune, an object without owner references belongs to the parent if the Applier's field manager has
	//     applied to it and the intent sets no owner reference.
	//
	// Belongs is also called for an intent with MustExist: if it returns false, the Outcome is Absent. If Belongs is
	// nil, such an intent is applied to any object with the name.
	Belongs func(parent P, child client.Object) bool
	// Prune makes the reconciler delete the objects of earlier intents that Emit no longer returns. The parent and its
	// objects become an ApplySet; see applyset.Sets for the cost and the required permissions. Only one reconciler can
	// prune for a parent. If an apply fails, nothing is deleted. Prune needs a Finalizer: when a parent is deleted, the
	// reconciler deletes the parent's objects in all namespaces, and does not leave this to the garbage collector.
	Prune bool

	// Finalizer is the finalizer that is added to each parent; "" adds none. A Finalizer needs Cleanup or Prune.
	Finalizer string
	// Cleanup is called in each reconcile of a parent that is being deleted. When it returns done, the finalizer is
	// removed. Cleanup must be idempotent: after an error, a crash or a change of the leader, it is called again. Until it
	// returns done, a watch must trigger the next reconcile. With Prune, Cleanup may be nil, and the members of
	// the parent's set are deleted after Cleanup has returned done. While such members exist, Cleanup is called again.
	Cleanup func(ctx context.Context, parent P) (done bool, err error)
	// Status is called after the intents were applied, and returns what to write to the parent's status. It may be nil.
	Status func(ctx context.Context, parent P, applied Applied) (Report[P], error)
	// Gone is called in a reconcile of a parent that does not exist. It may be nil.
	Gone func(ctx context.Context, parent types.NamespacedName) error
	// Events records events on the parent about conflicts and pruning. It may be nil.
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
		errs = append(errs, fmt.Errorf("the parent's type is %v, which can hold any kind: use the Go type of the parent's kind", p))
	}
	return errors.Join(errs...)
}

// Reconciler is a reconcile.Reconciler that applies the intents that Config.Emit computes for each parent.
type Reconciler[P client.Object] struct {
	Config[P]

	sets    *applyset.Sets // nil without Config.Prune
	news    news
	checks  atomic.Int64                       // the number of reconciles that have called Emit
	deleted *recent.Cache[types.UID, struct{}] // the uids of parents that no longer exist or need no more clean-up, but may still be in the cache
}

// remembered is the minimum number of entries that the caches of a Reconciler hold.
const remembered = 8192

// New returns a Reconciler for parents of the Go type P. It returns an error if the Config is invalid, or if P does not
// stand for exactly one kind (*unstructured.Unstructured, for example, does not).
func New[P client.Object](config Config[P]) (*Reconciler[P], error) {
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("reconciler: %w", err)
	}
	r := &Reconciler[P]{Config: config, news: newNews(), deleted: recent.New[types.UID, struct{}](remembered)}
	if config.Prune {
		var err error
		if r.sets, err = applyset.New(config.Applier); err != nil {
			return nil, fmt.Errorf("reconciler: %w", err)
		}
	}
	return r, nil
}

// Reconcile applies the intents of one parent and writes its status. The package comment lists the steps, and says how
// errors are handled.
func (r *Reconciler[P]) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	parent, err := r.read(ctx, request.NamespacedName)
	if err != nil {
		if err = client.IgnoreNotFound(err); err == nil && r.Gone != nil {
			err = r.Gone(ctx, request.NamespacedName)
		}
		return Requeue(ctx, err)
	}
	if _, deleted := r.deleted.Get(parent.GetUID()); deleted { // the garbage collector would at once delete new children, which would trigger a reconcile
		return reconcile.Result{}, nil
	}
	if ended, result, err := r.ends(ctx, parent); ended {
		return result, err
	}
	uid := parent.GetUID()
	parent, added, err := r.ensureFinalizer(ctx, parent)
	isNew, since := r.news.about(trouble{uid, "finalizer"}, err)
	switch {
	case err != nil:
		return requeue(ctx, isNew, since, err)
	case added:
		return reconcile.Result{RequeueAfter: time.Nanosecond}, nil // at once: a RequeueAfter of 0 schedules no reconcile
	}
	if ended, result, err := r.ends(ctx, parent); ended { // this may be the live parent, which ensureFinalizer has read
		return result, err
	}
	applied := r.apply(ctx, parent)
	isNew, since = r.tellAll(parent, "", applied)
	after, err := r.writeStatus(ctx, parent, applied)
	unwritten, unwrittenSince := r.news.about(trouble{parent.GetUID(), "written status"}, err)
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

// read returns a copy of the cached parent, so that Emit and Status cannot change the cache. Only the content of the
// managed fields entries is shared with the cache: it is the largest part of many objects, and nothing changes it.
func (r *Reconciler[P]) read(ctx context.Context, name types.NamespacedName) (P, error) {
	parent := reflect.New(reflect.TypeFor[P]().Elem()).Interface().(P)
	if err := r.Client.Get(ctx, name, parent, &client.GetOptions{UnsafeDisableDeepCopy: new(true)}); err != nil {
		return parent, err
	}
	managed := parent.GetManagedFields()
	parent.SetManagedFields(nil)
	parent = parent.DeepCopyObject().(P)
	parent.SetManagedFields(slices.Clone(managed))
	if kind, err := r.Applier.Client().GroupVersionKindFor(parent); err == nil {
		parent.GetObjectKind().SetGroupVersionKind(kind) // the cached parent may lack its kind
	}
	return parent, nil
}

// ends reports whether the reconcile ends without a call of Config.Emit, because the parent is paused or being deleted.
// It then returns the result of the reconcile.
func (r *Reconciler[P]) ends(ctx context.Context, parent P) (bool, reconcile.Result, error) {
	switch {
	case parent.GetAnnotations()[PausedAnnotation] == "true":
		logr.FromContextOrDiscard(ctx).Info("the parent is paused and not reconciled", "annotation", PausedAnnotation)
		return true, reconcile.Result{}, nil
	case parent.GetDeletionTimestamp() != nil:
		result, err := r.finalize(ctx, parent)
		return true, result, err
	}
	return false, reconcile.Result{}, nil
}

// ensureFinalizer adds the finalizer if the parent lacks it, and reports whether it did so. It returns the parent that
// the Updater has read or written, which may be newer than the cached parent.
func (r *Reconciler[P]) ensureFinalizer(ctx context.Context, parent P) (P, bool, error) {
	if r.Finalizer == "" {
		return parent, false, nil
	}
	result, err := update.EnsureFinalizer(ctx, r.Updater, parent, r.Finalizer)
	return result.Object, result.Changed, err
}

func (r *Reconciler[P]) apply(ctx context.Context, parent P) (applied Applied) {
	if r.sets != nil {
		return r.applyAndPrune(ctx, parent)
	}
	intents, err := r.emit(ctx, parent)
	if err != nil {
		return Applied{Errs: []error{fmt.Errorf("computing the intents: %w", err)}}
	}
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

// part identifies what an intent is applied to: an object or a subresource of an object.
type part struct {
	object      apply.ObjectRef
	subresource string
}

// applyOne applies one intent of a reconcile. seen contains the errors of the earlier intents. If an earlier intent was
// for the same object, applyOne returns an error, because each of the two applies would remove the fields of the other
// intent. If an object belongs to someone else (apply.ErrNotOurs), a later intent for a subresource of the object fails
// with the same error.
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
			Err: errors.New("two intents for one object: put all fields of the object into one intent, because each apply removes the fields that its intent does not set")}
	}
	outcome, err := r.Applier.Apply(ctx, intent)
	seen[this] = err
	return outcome, err
}

func (r *Reconciler[P]) applyAndPrune(ctx context.Context, parent P) Applied {
	round := r.sets.Apply(ctx, parent, func() ([]apply.Intent, error) { return r.emit(ctx, parent) })
	applied := Applied{Outcomes: round.Outcomes, Errs: round.Errs}
	if len(applied.Errs) > 0 {
		return applied
	}
	pruned, err := round.Prune(ctx)
	applied.Pruned, applied.Errs = pruned, nonNil(err)
	if several, ok := errors.AsType[*applyset.PruneError](err); ok {
		applied.Errs = several.Errs // the wait before a retry depends on each error
	}
	return applied
}

// writeStatus calls Config.Status and writes the status. It returns Report.After. The error comes from Status, from the
// write or from Report.Then.
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
	case gone: // an event will trigger a reconcile, which calls Config.Gone or finds a new parent
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

// land writes the status in the report to the live parent, which must have the uid of the given parent. gone reports
// whether the write failed because no parent with this uid exists any more.
func (r *Reconciler[P]) land(ctx context.Context, parent P, report Report[P]) (gone bool, err error) {
	switch {
	case report.Change != nil && report.Apply != nil:
		return false, errors.New("the Report has both Change and Apply: set only one of them")
	case report.Change != nil && r.Updater == nil:
		return false, errors.New("Report.Change needs an Updater, but Config.Updater is nil")
	case report.Change != nil:
		var changeErr error // a NotFound from Report.Change does not mean that the parent is gone
		_, err = update.Status(ctx, r.Updater, parent, func(parent P) error {
			changeErr = report.Change(parent)
			return changeErr
		})
		return changeErr == nil && (apierrors.IsNotFound(err) || errors.Is(err, apply.ErrUIDMismatch)), err
	case report.Apply != nil:
		outcome, err := r.Applier.Apply(ctx, apply.Intent{Config: report.Apply, Subresource: "status", UID: parent.GetUID()})
		r.tellAll(parent, "status", Applied{Outcomes: []apply.Outcome{outcome}, Errs: []error{err}})
		return errors.Is(err, apply.ErrUIDMismatch), err
	}
	return false, nil
}
