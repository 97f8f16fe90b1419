package reconciler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
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

// conflictRetry is how long a rejected conflict waits if no watch reports that the other owner
// gave the field up: that changes no value.
const conflictRetry = time.Minute

// refusalRetry is the longest wait after a refusal, see refusalWait.
const refusalRetry = time.Minute

// refusalWait returns the wait until the next apply. since is the time for which the API server
// has refused applies. No event reports that an administrator granted a right, raised a quota or
// installed a kind. The first retries come soon, because some refusals end without an
// administrator. An example is the refusal of a Pod while the ServiceAccount of a new Namespace
// does not exist yet.
func refusalWait(since time.Duration) time.Duration {
	return min(max(since, time.Second), refusalRetry)
}

// Requeue returns when to reconcile again after errors, see the package comment. If each of the
// errors has a wait, the result is the longest wait that the server asked for. If the server
// asked for none, the result is the wait after a conflict. The wait is extended at random by up
// to a fifth. If all errors are invalid intents, Requeue returns them as a
// reconcile.TerminalError. In all other cases it returns the joined errors, and the rate limiter
// decides. nil errors are ignored. All errors are ignored if ctx is cancelled and one of them is
// context.Canceled, because the manager stops.
func Requeue(ctx context.Context, errs ...error) (reconcile.Result, error) {
	return requeue(ctx, true, unknown, errs...)
}

// unknown means that the caller does not know for how long the errors have lasted. In this case
// the rate limiter decides about refusals.
const unknown = time.Duration(-1)

// requeue is Requeue with two more inputs. If isNew is false, the errors are logged at level 1.
// The duration since says for how long the errors have lasted, and determines the wait after a
// refusal.
func requeue(ctx context.Context, isNew bool, since time.Duration, errs ...error) (reconcile.Result, error) {
	err := errors.Join(errs...)
	if err == nil {
		return reconcile.Result{}, nil
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return reconcile.Result{}, nil // the manager stops
	}
	var waits waits
	for _, one := range errs {
		if one != nil && !waits.add(one, since) {
			return reconcile.Result{}, err
		}
	}
	after := waits.longest()
	if after == 0 {
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	after = wait.Jitter(after, 0.2)
	log := logr.FromContextOrDiscard(ctx)
	switch {
	case !isNew:
		log.V(1).Info(notReconciled(errs), "error", err.Error(), "retryAfter", after)
	case waits.severe:
		log.Error(err, notReconciled(errs), "retryAfter", after)
	default:
		log.Info(notReconciled(errs), "error", err.Error(), "retryAfter", after)
	}
	return reconcile.Result{RequeueAfter: after}, nil
}

// waits holds the waits that the errors of one reconcile need, by the kind of error.
type waits struct {
	asked, conflict, refusal time.Duration
	severe                   bool // a person must fix the cause of an error
}

// add records the wait that an error needs. It returns false if the rate limiter must decide
// about the error.
func (w *waits) add(err error, since time.Duration) bool {
	retryable := (*apply.RetryableError)(nil)
	switch {
	case errors.Is(err, apply.ErrConflict), errors.Is(err, apply.ErrNotOurs), terminating(err):
		w.conflict = conflictRetry
	case errors.Is(err, apply.ErrInvalidIntent): // only a change of the parent or of the program fixes it
		w.severe = true
	case errors.Is(err, ErrNotPure):
		w.conflict, w.severe = conflictRetry, true
	case errors.Is(err, apply.ErrRefused) && since != unknown:
		w.refusal, w.severe = refusalWait(since), true
	case errors.As(err, &retryable) && retryable.After > 0:
		w.asked = max(w.asked, retryable.After)
	default:
		return false
	}
	return true
}

// longest returns the wait of the reconcile, and 0 if no error has a wait. A wait that the server
// asked for has priority over the wait after a refusal, and that one over the wait after a
// conflict.
func (w *waits) longest() time.Duration {
	return cmp.Or(w.asked, w.refusal, w.conflict)
}

// notReconciled returns a text with the number of errors, each of which is about an object that could
// not be applied, or not be deleted.
func notReconciled(errs []error) string {
	n := 0
	for _, err := range errs {
		if err != nil {
			n++
		}
	}
	if n == 1 {
		return "1 object could not be reconciled"
	}
	return fmt.Sprintf("%d objects could not be reconciled", n)
}

// terminating reports whether the error is that of a Namespace that is being deleted and takes
// nothing new. Only its end heals that, and a parent in it goes as well.
func terminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// tell records events about conflicts, rejected and settled, about objects that are someone
// else's, and what was pruned or kept. Rejected conflicts, objects
// of others and kept objects are not repeated while they stay the same.
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
		if outcome.Action == "" {
			continue
		}
		tellSettled(r.Events, parent, outcome.Conflicts)
	}
	for _, object := range applied.Pruned.Deleted {
		Event(r.Events, parent, corev1.EventTypeNormal, "Pruned", "deleted "+object.String()+", which is emitted no longer")
	}
	for _, object := range applied.Pruned.Released {
		Event(r.Events, parent, corev1.EventTypeNormal, "Released", "gave up the fields of "+object.String()+", which are emitted no longer")
	}
	for _, kept := range applied.Pruned.Kept {
		if !kept.Remembered {
			Event(r.Events, parent, corev1.EventTypeWarning, "NotPruned", kept.String())
		}
	}
}

// tellUnread records events about new entries of managed fields that cannot be read. Their
// index in the list does not make them new.
func (r *Reconciler[P]) tellUnread(of trouble, parent P, outcomes []apply.Outcome) {
	var all []error
	for _, outcome := range outcomes {
		for _, unread := range outcome.Unread {
			all = append(all, fmt.Errorf("%v: %s: %w", outcome.Object, unread.Manager, unread.Err))
		}
	}
	if isNew := r.news.isNew(of, all...); !isNew || r.Events == nil {
		return
	}
	for _, outcome := range outcomes {
		for _, unread := range outcome.Unread {
			Event(r.Events, parent, corev1.EventTypeWarning, ReasonManagedFieldsUnreadable, fmt.Sprintf(
				"%v: %v; what it owns counts as nobody's. kubectl fieldowners audit lists such entries, and a patch of metadata.managedFields without it removes it",
				outcome.Object, unread))
		}
	}
}

// settled are the decisions with which an intent lands.
var settled = map[apply.Decision]struct{ reason, what string }{
	apply.Force:      {"OwnershipForced", "set"},
	apply.Relinquish: {"OwnershipRelinquished", "did not set"},
	apply.Share:      {"OwnershipShared", "shares the value, and did not set"},
}

// tellSettled records one event for each field. Of several owners, which may be forged, the
// first is named, and the others are counted.
func tellSettled(recorder events.EventRecorder, parent client.Object, conflicts []apply.Conflict) {
	type field struct {
		decision apply.Decision
		path     string
	}
	owners := map[field][]apply.Conflict{}
	var fields []field
	for _, conflict := range conflicts {
		if _, ok := settled[conflict.Decision]; !ok || conflict.Remembered || conflict.Own {
			continue
		}
		of := field{conflict.Decision, conflict.ServerPath}
		if len(owners[of]) == 0 {
			fields = append(fields, of)
		}
		owners[of] = append(owners[of], conflict)
	}
	for _, of := range fields {
		done, first := settled[of.decision], owners[of][0]
		note := done.what + " " + first.String()
		if others := len(owners[of]) - 1; others > 0 {
			note += fmt.Sprintf("; managers that own it as well: %d", others)
		}
		Event(recorder, parent, corev1.EventTypeNormal, done.reason, note)
	}
}

// noteLimit is the events API's limit of a note, in bytes.
const noteLimit = 1024

// Event records an event about a parent, with its note cut to the length that the API allows.
// The recorder counts events with the same object, reason and action as one, and keeps the
// first note. So the action is derived from the note, and the object is given without a
// resourceVersion, with which each status write would make another event.
func Event(recorder events.EventRecorder, parent client.Object, eventType, reason, note string) {
	if len(note) > noteLimit {
		// A character cut in two would be replaced by a longer one.
		note = strings.ToValidUTF8(note[:noteLimit-len("…")], "") + "…"
	}
	regarding := parent.DeepCopyObject().(client.Object)
	regarding.SetResourceVersion("")
	told := fnv.New32a()
	told.Write([]byte(note))
	recorder.Eventf(regarding, nil, eventType, reason, fmt.Sprintf("Apply-%08x", told.Sum32()), "%s", note)
}

// news remembers the last trouble of each parent, so that trouble is logged and reported once
// while it stays the same. A new process reports it again.
type news struct {
	byTrouble *recent.Cache[trouble, reported]
}

// reported describes the errors that were last reported for a trouble.
type reported struct {
	hash  uint64
	since time.Time // the time of the first error since the last success
}

// trouble names one kind of trouble of one parent.
type trouble struct {
	parent types.UID
	part   string // of what is applied: "" for what is emitted, or statusPart
	what   string
}

const statusPart = "status"

const rememberedTroubles = 8192

func newNews() news { return news{recent.New[trouble, reported](rememberedTroubles)} }

// isNew reports whether there are errors and they differ from those of the last time.
func (n news) isNew(of trouble, errs ...error) bool {
	isNew, _ := n.about(of, errs...)
	return isNew
}

// about returns the result of isNew, and for how long there have been errors without a success.
// The errors of that time may differ, as the text of a refusal may be different each time.
func (n news) about(of trouble, errs ...error) (isNew bool, since time.Duration) {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
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
