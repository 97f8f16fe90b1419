package reconciler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/internal/recent"
)

// longRetry is the wait before a retry after a rejected conflict, and the maximum wait after a refusal. The retries are
// necessary because no event may report that the cause is gone. Watch predicates may ignore the update in which the
// other owner gives up a field. No event reports that an administrator granted a right, raised a quota or installed a
// CRD. The first waits after a refusal are short, because some refusals soon end. For example, a Pod is refused until
// the ServiceAccount of its new Namespace exists.
const longRetry = time.Minute

// Requeue returns the result of a reconcile that failed with the given errors. It ignores nil errors. Usually Requeue
// returns the joined errors, so that the controller's rate limiter determines the wait before the next reconcile. There
// are three exceptions:
//   - If none of the errors needs the rate limiter (see the package comment), Requeue returns no error and sets
//     RequeueAfter. The value is the longest Retry-After of the API server, or else the minute after which a rejected
//     conflict is retried. It is extended at random by up to 20 %.
//   - If all errors are invalid intents, Requeue returns a reconcile.TerminalError.
//   - If ctx is cancelled and one of the errors is context.Canceled, Requeue returns no error: the process is stopping.
func Requeue(ctx context.Context, errs ...error) (reconcile.Result, error) {
	return requeue(ctx, true, unknown, errs...)
}

// unknown is passed to requeue if the caller does not know how long the errors have lasted. The controller's rate
// limiter then determines the wait after a refusal.
const unknown = time.Duration(-1)

// requeue implements Requeue. If isNew is false, the errors are logged at verbosity 1 only. The wait after a refusal
// depends on since, the time for which the errors have lasted.
func requeue(ctx context.Context, isNew bool, since time.Duration, errs ...error) (reconcile.Result, error) {
	errs = nonNil(errs...)
	err := errors.Join(errs...)
	if err == nil || ctx.Err() != nil && errors.Is(err, context.Canceled) { // if ctx is cancelled, the process is stopping
		return reconcile.Result{}, nil
	}
	w := waits{since: since}
	if slices.ContainsFunc(errs, w.leavesToLimiter) {
		return reconcile.Result{}, err
	}
	after := cmp.Or(w.asked, w.refusal, w.conflict)
	if after == 0 {
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	after = wait.Jitter(after, 0.2)
	what := fmt.Sprintf("%d objects could not be reconciled", len(errs))
	if len(errs) == 1 {
		what = "1 object could not be reconciled"
	}
	log := logr.FromContextOrDiscard(ctx)
	switch {
	case !isNew:
		log.V(1).Info(what, "error", err.Error(), "retryAfter", after)
	case w.severe:
		log.Error(err, what, "retryAfter", after)
	default:
		log.Info(what, "error", err.Error(), "retryAfter", after)
	}
	return reconcile.Result{RequeueAfter: after}, nil
}

func nonNil(errs ...error) []error {
	return slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
}

// waits holds the wait before the next reconcile for each class of errors. A wait of 0 means that there was no error of
// that class.
type waits struct {
	since                    time.Duration // the time for which the errors have lasted, or unknown
	asked, refusal, conflict time.Duration // asked is the longest Retry-After of the API server
	severe                   bool          // a person must fix the cause of at least one error
}

// leavesToLimiter reports whether the controller's rate limiter must determine the wait after an error. Otherwise it
// records the wait that the error requires.
func (w *waits) leavesToLimiter(err error) bool {
	retryable := (*apply.RetryableError)(nil)
	switch {
	case errors.Is(err, apply.ErrConflict), errors.Is(err, apply.ErrNotOurs), terminating(err):
		w.conflict = longRetry
	case errors.Is(err, apply.ErrInvalidIntent): // no wait: only a change of the parent or of the program helps
		w.severe = true
	case errors.Is(err, ErrNotPure):
		w.conflict, w.severe = longRetry, true
	case errors.Is(err, apply.ErrRefused) && w.since != unknown:
		w.refusal, w.severe = min(max(w.since, time.Second), longRetry), true
	case errors.As(err, &retryable) && retryable.After > 0:
		w.asked = max(w.asked, retryable.After)
	default:
		return true
	}
	return false
}

// terminating reports whether the API server refused to create an object because the object's Namespace is being
// deleted. A retry cannot succeed until the Namespace no longer exists.
func terminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// tellAll records events about the apply of the parent's status if subresource is "status", or else of its intents.
// It reports whether the errors differ from those of the last reconcile, and how long there have been errors.
func (r *Reconciler[P]) tellAll(parent P, subresource string, applied Applied) (isNew bool, since time.Duration) {
	isNew, since = r.news.about(trouble{parent.GetUID(), "errors " + subresource}, applied.Errs...)
	r.tell(parent, applied, isNew)
	r.tellUnread(trouble{parent.GetUID(), "unread " + subresource}, parent, applied.Outcomes)
	return isNew, since
}

// tell records events on the parent about conflicts, about objects that belong to someone else, and about pruned,
// released and kept objects. It records rejected conflicts and objects that belong to someone else only if isNew is
// true. It does not repeat the event for an object that is kept for the same reason (see applyset.Kept).
func (r *Reconciler[P]) tell(parent P, applied Applied, isNew bool) {
	if r.Events == nil {
		return
	}
	for _, err := range applied.Errs {
		if !isNew {
			break
		}
		if conflict := (*apply.ConflictError)(nil); errors.As(err, &conflict) {
			Event(r.Events, parent, corev1.EventTypeWarning, ReasonOwnershipConflict, conflict.Error())
		} else if errors.Is(err, apply.ErrNotOurs) {
			Event(r.Events, parent, corev1.EventTypeWarning, ReasonNameTaken, err.Error())
		}
	}
	for _, outcome := range applied.Outcomes {
		if outcome.Action != "" {
			tellSettled(r.Events, parent, outcome.Conflicts)
		}
	}
	why := "which is no longer desired"
	if parent.GetDeletionTimestamp() != nil {
		why = "because its parent is being deleted"
	}
	for _, object := range applied.Pruned.Deleted {
		Event(r.Events, parent, corev1.EventTypeNormal, "Pruned", "deleted "+object.String()+", "+why)
	}
	for _, object := range applied.Pruned.Released {
		Event(r.Events, parent, corev1.EventTypeNormal, "Released", "gave up the fields applied to "+object.String()+", which are no longer desired; the object was not deleted")
	}
	for _, kept := range applied.Pruned.Kept {
		if !kept.Remembered {
			Event(r.Events, parent, corev1.EventTypeWarning, "NotPruned", kept.String())
		}
	}
}

// tellUnread records one event for each managed fields entry that cannot be parsed. It records no event if the
// unreadable entries have not changed since the last reconcile.
func (r *Reconciler[P]) tellUnread(of trouble, parent P, outcomes []apply.Outcome) {
	var all []error
	for _, outcome := range outcomes {
		for _, unread := range outcome.Unread {
			all = append(all, fmt.Errorf("%v: the managed fields entry of manager %q cannot be read: %w; the fields of this entry count as fields without an owner. "+
				"List such entries with kubectl fieldowners audit, and remove this entry with a patch of metadata.managedFields", outcome.Object, unread.Manager, unread.Err))
		}
	}
	if isNew, _ := r.news.about(of, all...); isNew && r.Events != nil {
		for _, note := range all {
			Event(r.Events, parent, corev1.EventTypeWarning, ReasonManagedFieldsUnreadable, note.Error())
		}
	}
}

// settled holds the reason and the text of the event for each decision by which an apply succeeds despite a conflict.
var settled = map[apply.Decision]struct{ reason, what string }{
	apply.Force:      {"OwnershipForced", "set"},
	apply.Relinquish: {"OwnershipRelinquished", "did not set"},
	apply.Share:      {"OwnershipShared", "shares the owner's value, and did not set"},
}

// tellSettled records one event for each field with a conflict that the policy forced, relinquished or shared. If the
// field has several other owners, the event names the first owner and only counts the rest, because forged managed
// fields entries can add many owners.
func tellSettled(recorder events.EventRecorder, parent client.Object, conflicts []apply.Conflict) {
	type field struct {
		decision apply.Decision
		path     string
	}
	owners := map[field]int{}
	var first []apply.Conflict // the first conflict of each field
	for _, conflict := range conflicts {
		if settled[conflict.Decision].reason == "" || conflict.Remembered || conflict.Own {
			continue
		}
		of := field{conflict.Decision, conflict.ServerPath}
		if owners[of]++; owners[of] == 1 {
			first = append(first, conflict)
		}
	}
	for _, conflict := range first {
		note := settled[conflict.Decision].what + " " + conflict.String()
		if others := owners[field{conflict.Decision, conflict.ServerPath}] - 1; others > 0 {
			note += fmt.Sprintf("; number of further owners: %d", others)
		}
		Event(recorder, parent, corev1.EventTypeNormal, settled[conflict.Decision].reason, note)
	}
}

// Event records an event about a parent, and shortens the note to the length that the API permits. The recorder merges
// events that have the same object, reason and action, and keeps only the first note. To keep events with different
// notes apart, Event derives the action from the note. It passes the parent to the recorder without a resourceVersion,
// because otherwise each write of the parent's status would prevent the merging of equal events.
func Event(recorder events.EventRecorder, parent client.Object, eventType, reason, note string) {
	note = truncated(note)
	regarding := parent.DeepCopyObject().(client.Object)
	regarding.SetResourceVersion("")
	told := fnv.New32a()
	told.Write([]byte(note))
	recorder.Eventf(regarding, nil, eventType, reason, fmt.Sprintf("Apply-%08x", told.Sum32()), "%s", note)
}

// news remembers the last errors of each parent, so that an unchanged error is logged and reported only once. After a
// restart of the process, errors are reported again.
type news struct {
	byTrouble *recent.Cache[trouble, reported]
}

// reported describes the last recorded errors of one group (see trouble).
type reported struct {
	hash  uint64    // a hash of the messages of the errors
	since time.Time // the time of the first error since the last success
}

// trouble identifies a group of errors of a parent that are reported together.
type trouble struct {
	parent types.UID
	what   string // the name of the group of errors
}

func newNews() news { return news{recent.New[trouble, reported](remembered)} }

// about records the present errors of a group. isNew is true for errors that differ from the previous errors. since
// is the time since the first error after the last success, even if the text of the errors has changed since then.
func (n news) about(of trouble, errs ...error) (isNew bool, since time.Duration) {
	errs = nonNil(errs...)
	if len(errs) == 0 {
		n.byTrouble.Remove(of)
		return false, 0
	}
	text := fnv.New64a()
	for _, err := range errs {
		text.Write([]byte(messageOf(err) + "\n"))
	}
	before, known := n.byTrouble.Get(of)
	now := reported{text.Sum64(), before.since}
	if !known {
		now.since = time.Now()
	}
	n.byTrouble.Put(of, now)
	return !known || before.hash != now.hash, time.Since(now.since)
}
