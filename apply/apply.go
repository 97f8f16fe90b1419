package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/apply/lanes"
)

// Apply applies the intent to its object. If Config.Steady proves that nothing would change, no
// request is sent. Otherwise the intent is sent unforced, and the policy decides its conflicts
// field by field, see Decision. If the policy rejects a conflict, the object does not change.
// Relinquished fields are left out of the request, and shared fields get the live value. If the
// policy forces the remaining conflicts, Apply reads the object, applies the intent once more
// without force, and judges the conflicts of that response. Only then does Apply force the
// intent, pinned to the uid and resourceVersion that were read. So a field that another manager
// takes in between is never forced. Transient errors are retried, up to three attempts in all.
//
// The relinquished and shared fields follow from the object each time. With Steady, or an intent
// with MustExist or Belongs, Apply looks at the cached object. It sends the rest of the intent in
// one request, pinned to the resourceVersion of the cached object, or sends nothing if nothing
// would change. Otherwise, if the last Apply relinquished or shared a field, Apply reads the
// object first: two requests. When the other owners no longer own the fields, the whole intent
// is sent.
//
// The error is an *IntentError, *NotOursError, *ConflictError, *ContendedError,
// *UIDMismatchError, *RetryableError, *RefusedError, *lanes.ReentryError, or that of the context.
// After a RetryableError or the end of the context the intent may have landed, as the answer may have been lost. After the others nothing of it
// landed, with two exceptions: a try whose answer was lost may have landed, if a later try of
// the same call met another error; and if the server dropped the status (see
// Intent.Subresource), the rest has landed. Repeating an Apply is safe.
func (a *Applier) Apply(ctx context.Context, intent Intent) (Outcome, error) {
	ctx, call := a.begin(ctx)
	landed, err := call.run(ctx, intent)
	return call.end(landed, err)
}

// call is what the steps of one Apply, Plan or Release share. What a step finds out is
// returned, as an answer, a settlement or a proof.
type call struct {
	*Applier

	exchange *wire.Exchange
	log      logr.Logger
	start    time.Time
	waited   time.Duration  // for the lane
	dryRun   bool           // the server is to change nothing
	intent   *encodedIntent // as the caller gave it
	ref      ObjectRef      // to the object, as last read or answered
	target   target         // what writes are pinned to
	outcome  Outcome        // so far
}

// begin starts a call. The caller has to call end.
func (a *Applier) begin(ctx context.Context) (context.Context, *call) {
	ctx, exchange := wire.WithExchange(ctx)
	return ctx, &call{Applier: a, exchange: exchange, log: logr.FromContextOrDiscard(ctx), start: time.Now()}
}

// run does the steps in order. The first half of step 2 comes before step 1: what was proven
// before need not be encoded.
func (c *call) run(ctx context.Context, intent Intent) (*answer, error) {
	key := c.steadyKey(intent)
	if proof, ok := c.stillSteady(ctx, key, intent); ok {
		return c.unchanged(proof), nil
	}
	if err := c.encode(intent); err != nil {
		return nil, err
	}
	if proof, ok := c.becomesSteady(ctx, key); ok {
		proof.conflicts = c.report(proof.conflicts)
		return c.unchanged(proof), nil
	}
	ctx, err := c.before(ctx)
	if err != nil {
		return nil, err
	}
	landed, err := c.write(ctx)
	if err != nil {
		return c.absentOr(err)
	}
	c.compare(landed)
	if err := c.statusLanded(landed); err != nil {
		return landed, err
	}
	c.steadyByAnswer(ctx, key, landed)
	return landed, nil
}

// encode is step 1.
func (c *call) encode(intent Intent) error {
	encoded, err := encode(intent)
	if err != nil {
		if invalid := (*IntentError)(nil); errors.As(err, &invalid) {
			c.ref = invalid.Object // as far as known
		}
		return err
	}
	c.about(encoded)
	if err := wire.CheckScope(c.client, c.ref.GroupVersionKind, c.ref.NamespacedName); err != nil {
		return &IntentError{Object: c.ref, Err: err}
	}
	return nil
}

// about sets the intent of the call.
func (c *call) about(intent *encodedIntent) {
	c.intent, c.ref = intent, intent.ref
	c.target = target{uid: intent.ref.UID, read: c.target.read}
	c.log = c.log.WithValues("fieldManager", c.config.FieldManager, "kind", c.ref.Kind, "object", c.ref.NamespacedName)
}

// unchanged ends a call at step 2.
func (c *call) unchanged(by proof) *answer {
	c.ref = by.object
	c.outcome.Conflicts, c.outcome.Unread = by.conflicts, by.unread
	return nothingSent(Unchanged)
}

// before calls the function of wire.BeforeSending, which may still refuse the intent.
func (c *call) before(ctx context.Context) (context.Context, error) {
	if c.dryRun {
		return ctx, nil
	}
	return wire.Before(ctx)
}

// write is steps 3 to 7, and the part of step 2 that concerns a write: it pins the write to the
// cached object, and retries transient errors.
func (c *call) write(ctx context.Context) (landed *answer, err error) {
	if err := c.aim(ctx); err != nil {
		return nil, c.classify(ctx, err)
	}
	_, err = wire.Repeat(ctx, momentaryBackoff(), c.worthRetrying, func() (err error) {
		landed, err = c.applyInTurn(ctx)
		return err
	})
	return landed, err
}

// momentaryBackoff returns the attempts of step 7, which retryFor bounds as well.
func momentaryBackoff() wait.Backoff {
	return wait.Backoff{Steps: 3, Duration: 100 * time.Millisecond, Factor: 4, Jitter: 0.5}
}

// retryFor is how long after its start a call may try again. Longer waits belong in a queue,
// where they hold up nothing else.
const retryFor = 10 * time.Second

// worthRetrying reports whether an error is transient. If the API server is too busy, or named a
// time to wait, client-go has retried ten times already.
func (c *call) worthRetrying(err error) bool {
	retryable, ok := errors.AsType[*RetryableError](err)
	return ok && retryable.After == 0 && !apierrors.IsTooManyRequests(err) && time.Since(c.start) < retryFor
}

// applyInTurn is steps 3 to 6, each try inside the lane.
func (c *call) applyInTurn(ctx context.Context) (landed *answer, err error) {
	var settled settlement
	settling := false
	exhausted, err := wire.Tries(ctx, IsStaleWrite, func() error {
		settling = settling || c.target.doubtful || c.gaveWay()
		enter := c.join
		if settling || c.target.absent { // a read comes first, or whoever is first creates it
			enter = c.enter
		}
		return c.inside(ctx, enter, func(ctx context.Context) (err error) {
			var now settlement
			if landed, now, err = c.try(ctx, settling); err == nil || len(now.conflicts)+len(now.unread) > 0 {
				settled = now // else what was judged before is told
			}
			settling = true
			return err
		})
	})
	c.outcome.Conflicts, c.outcome.Unread = settled.conflicts, settled.unread
	switch {
	case exhausted:
		return nil, &ContendedError{Object: c.ref, Attempts: c.outcome.Attempts, Conflicts: settled.conflicts, Err: err}
	case err != nil:
		return nil, err
	}
	c.outcome.Conflicts = c.report(settled.conflicts)
	if isNew := func(conflict Conflict) bool { return !conflict.Remembered }; slices.ContainsFunc(settled.conflicts, isNew) {
		c.log.Info("took fields from other managers, or left them", "conflicts", texts(settled.conflicts))
	}
	return landed, nil
}

// inLane calls do while this call has the object's lane to itself.
func (c *call) inLane(ctx context.Context, do func(context.Context) error) error {
	return c.inside(ctx, c.enter, do)
}

// inside is step 3: it calls do when it is this call's turn. A dry run changes nothing and
// waits for nobody.
func (c *call) inside(ctx context.Context, enter enter, do func(context.Context) error) error {
	if c.dryRun {
		return do(ctx)
	}
	start := time.Now()
	inside, leave, err := enter(ctx)
	c.waited += time.Since(start)
	if err != nil {
		return err
	}
	defer leave()
	return do(inside)
}

// enter is a way into a lane.
type enter func(context.Context) (inside context.Context, leave func(), err error)

func (c *call) enter(ctx context.Context) (context.Context, func(), error) {
	return c.config.Lanes.Enter(ctx, c.ref.Key())
}

// join enters the lane for a write without a read. Writes of other field managers may be
// inside.
func (c *call) join(ctx context.Context) (context.Context, func(), error) {
	return c.config.Lanes.Join(ctx, c.ref.Key(), c.config.FieldManager)
}

// alone waits until no other write is inside the lane, and keeps others out from then on.
func (c *call) alone(ctx context.Context) error {
	if c.dryRun {
		return nil
	}
	start := time.Now()
	defer func() { c.waited += time.Since(start) }()
	return lanes.Alone(ctx)
}

// try sends the intent, which is step 4, and settles its conflicts. A stale write is returned for
// another try.
func (c *call) try(ctx context.Context, settling bool) (landed *answer, settled settlement, err error) {
	if !settling {
		landed, settled, err = c.sendFirst(ctx)
		stale := len(settled.made) > 0 && IsStaleWrite(err) // the cache was behind
		if settling = IsOwnershipConflict(err) || c.unexpected(err) || stale; !settling && IsStaleWrite(err) {
			lanes.Overtaken(ctx)
		}
	}
	if settling {
		if err := c.alone(ctx); err != nil {
			return nil, settled, err
		}
		if landed, settled, err = c.settle(ctx, err, settled); IsStaleWrite(err) {
			return nil, settled, err
		}
	}
	return landed, settled, c.explain(ctx, err)
}

// sendFirst sends the intent. If the object that Apply has read shows conflicts that the policy
// relinquishes or shares, sendFirst sends the rest of the intent.
func (c *call) sendFirst(ctx context.Context) (landed *answer, settled settlement, err error) {
	if read, made := c.foreseeRead(ctx); len(made.made) > 0 {
		landed, err = c.sendConceding(ctx, read, made, true)
		return landed, settlement{concessions: made, conflicts: made.conflicts()}, err
	}
	landed, err = c.send(ctx, request{form: c.intent, pin: c.target.pin()})
	return landed, settlement{}, err
}

// classify is step 5. It tells an absent object from a request that the API server refuses.
func (c *call) classify(ctx context.Context, err error) error {
	through := c.intent.Subresource
	switch {
	case errors.Is(err, errAbsent):
		return errAbsent
	case through != "" && apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		err = fmt.Errorf("is there a subresource %q of this kind? %w", through, err)
	case through != "" && apierrors.IsNotFound(err): // a live read has confirmed that the object is absent
		return errAbsent
	case through != "" && apierrors.IsBadRequest(err):
		err = fmt.Errorf("a subresource with a kind of its own, as scale has, takes that kind as Intent.Body: %w", err)
	}
	return Classify(ctx, c.pinnedRef(), err)
}

// explain is step 5 for errors that are no ownership conflict. A 409 without causes means a uid
// that no longer exists, which only a live read shows, or a race inside the server, which
// passes.
func (c *call) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	classified := c.classify(ctx, err)
	if !IsStaleWrite(classified) {
		return classified
	}
	if c.target.uid == "" {
		return &RetryableError{Object: c.ref, Err: err}
	}
	live, readErr := c.readLive(ctx)
	switch {
	case readErr != nil: // errAbsent included
		return c.classify(ctx, readErr)
	case live.GetUID() != c.target.uid:
		return &UIDMismatchError{Object: c.pinnedRef(), Err: err}
	}
	return &RetryableError{Object: c.ref, Err: err}
}

// errAbsent means that there is no object to apply to.
var errAbsent = errors.New("the object does not exist")

// absentOr turns errAbsent into its meaning: Absent for an object that must exist or whose
// subresource is meant, a UIDMismatchError for one with a known uid. It returns other errors as
// they are.
func (c *call) absentOr(err error) (*answer, error) {
	if !errors.Is(err, errAbsent) {
		return nil, err
	}
	c.outcome.Conflicts = nil
	if c.intent.MustExist || c.target.uid == "" {
		return nothingSent(Absent), nil
	}
	return nil, &UIDMismatchError{Object: c.pinnedRef(), Err: err}
}

// end is step 8: one outcome and one observation.
func (c *call) end(landed *answer, err error) (Outcome, error) {
	outcome := c.outcome
	outcome.Object, outcome.Requests = c.ref, c.exchange.Requests()
	switch {
	case err != nil:
		outcome.Action = ""
	case landed.action != Unchanged || outcome.Action == "": // else an earlier request of this call changed something
		outcome.Action = landed.action
	}
	c.observe(outcome, err, c.countChange(landed, outcome.Action))
	return outcome, err
}

func (c *call) observe(outcome Outcome, err error, loop string) {
	if c.config.Metrics == nil {
		return
	}
	result := string(outcome.Action)
	if err != nil {
		result = ResultOf(err)
	}
	decided := map[Decision]int{}
	var forced []Conflict
	for _, conflict := range outcome.Conflicts {
		if conflict.Remembered {
			continue
		}
		decided[conflict.Decision]++
		if err == nil && conflict.Decision == Force && !c.dryRun {
			forced = append(forced, conflict)
		}
	}
	c.config.Metrics.ObserveApply(ApplyObservation{
		FieldManager: c.config.FieldManager,
		Kind:         c.ref.GroupVersionKind,
		Object:       c.ref,
		Result:       result,
		Requests:     outcome.Requests,
		Attempts:     outcome.Attempts,
		Conflicts:    decided,
		Forced:       forced,
		Duration:     time.Since(c.start),
		Waited:       c.waited,
		Loop:         loop,
	})
}
