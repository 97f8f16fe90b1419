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

// Apply applies the intent to its object. If Config.Steady proves that nothing would change, Apply
// sends no request. Otherwise Apply sends the intent unforced, and the policy decides the ownership
// conflicts field by field, see Decision. If the policy rejects a conflict, the object does not
// change. Relinquished fields are left out of the request, and shared fields get the live value.
// Transient errors are retried, up to three attempts in all.
//
// If the policy forces the remaining conflicts, Apply reads the object, applies the intent once
// more without force, and lets the policy decide the conflicts of that response. Only then does
// Apply force the intent, pinned to the uid and resourceVersion that were read. So Apply never
// forces a field that another field manager takes after the read.
//
// Each Apply computes the relinquished and shared fields anew. With Steady, or an intent with
// MustExist or Belongs, Apply computes them from the cached object. It sends the rest of the intent
// in one request, pinned to the resourceVersion of the cached object, or sends nothing if nothing
// would change. Otherwise, if the last Apply relinquished or shared a field, Apply reads the object
// first: two requests. When the other owners no longer own the fields, the whole intent is sent.
//
// The error is an *IntentError, *NotOursError, *ConflictError, *ContendedError, *UIDMismatchError,
// *RetryableError, *RefusedError, *lanes.ReentryError, or the error of the context. After a
// RetryableError or the end of the context the write may have succeeded, because the response may
// have been lost. After the other errors nothing was written, with two exceptions. An attempt whose
// response was lost may have succeeded, if a later attempt of the same call met another error. And
// if the API server dropped the status (see Intent.Subresource), it has written the other fields.
// Repeating an Apply is safe.
func (a *Applier) Apply(ctx context.Context, intent Intent) (Outcome, error) {
	ctx, call := a.begin(ctx)
	landed, err := call.run(ctx, intent)
	return call.end(landed, err)
}

// call is the state of one Apply, Plan or Release, and its methods are the steps: 1 encode the
// intent, 2 look for a proof that nothing would change, 3 enter the object's lane, 4 send the
// intent unforced, 5 classify the error, 6 settle conflicts by the policy, 7 retry transient
// errors, and 8 return the Outcome.
type call struct {
	*Applier

	exchange *wire.Exchange
	log      logr.Logger
	start    time.Time
	waited   time.Duration  // time spent waiting for the lane
	dryRun   bool           // send dry runs only, and change nothing
	intent   *encodedIntent // the whole intent, as the caller gave it
	ref      ObjectRef      // the object, with the resourceVersion of the last read or response
	target   target         // the uid and resourceVersion that writes are pinned to
	outcome  Outcome        // the outcome so far
}

// begin starts a call and returns the context for its requests. The caller must call end later.
func (a *Applier) begin(ctx context.Context) (context.Context, *call) {
	ctx, exchange := wire.WithExchange(ctx)
	return ctx, &call{Applier: a, exchange: exchange, log: logr.FromContextOrDiscard(ctx), start: time.Now()}
}

// run does steps 1 to 7 of a call. The look-up of a remembered proof, a part of step 2, comes
// before step 1: if there is a proof, the intent need not be encoded.
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

// encode is step 1 of Apply: it encodes the intent as JSON, or returns an error for an invalid intent.
func (c *call) encode(intent Intent) error {
	encoded, err := encode(intent)
	if err != nil {
		if invalid := (*IntentError)(nil); errors.As(err, &invalid) {
			c.ref = invalid.Object
		}
		return err
	}
	c.about(encoded)
	if err := wire.CheckScope(c.client, c.ref.GroupVersionKind, c.ref.NamespacedName); err != nil {
		return &IntentError{Object: c.ref, Err: err}
	}
	return nil
}

// about sets the intent of a call, the reference of its object, and the values in its log lines.
func (c *call) about(intent *encodedIntent) {
	c.intent, c.ref = intent, intent.ref
	c.target = target{uid: intent.ref.UID, read: c.target.read}
	c.log = c.log.WithValues("fieldManager", c.config.FieldManager, "kind", c.ref.Kind, "object", c.ref.NamespacedName)
}

// unchanged returns the result of a call that a proof has ended: nothing would change, nothing is
// sent.
func (c *call) unchanged(by proof) *answer {
	c.ref = by.object
	c.outcome.Conflicts, c.outcome.Unread = by.conflicts, by.unread
	return nothingSent(Unchanged)
}

// before calls the function that a caller put into the context with wire.BeforeSending. If the
// function returns an error, the intent is not sent.
func (c *call) before(ctx context.Context) (context.Context, error) {
	if c.dryRun {
		return ctx, nil
	}
	return wire.Before(ctx)
}

// write is steps 3 to 7 of Apply: it pins the write to the cached object if the intent has
// MustExist or Belongs, sends the intent, and retries transient errors.
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

// momentaryBackoff returns the number and the delays of the attempts after transient errors.
func momentaryBackoff() wait.Backoff {
	return wait.Backoff{Steps: 3, Duration: 100 * time.Millisecond, Factor: 4, Jitter: 0.5}
}

// retryFor is the time after the start of a call after which the call does not retry any more. A
// caller that waits longer does so in its work queue, where the wait does not block other objects.
const retryFor = 10 * time.Second

// worthRetrying reports whether a call should retry after an error. It returns true for transient
// errors, until retryFor has passed. It returns false if the API server is too busy, or named a
// time to wait: client-go has then retried ten times already.
func (c *call) worthRetrying(err error) bool {
	retryable, ok := errors.AsType[*RetryableError](err)
	return ok && retryable.After == 0 && !apierrors.IsTooManyRequests(err) && time.Since(c.start) < retryFor
}

// applyInTurn is steps 3 to 6 of Apply: it enters the object's lane, sends the intent and settles
// its conflicts. After a stale write it repeats these steps, a bounded number of times.
func (c *call) applyInTurn(ctx context.Context) (landed *answer, err error) {
	var settled settlement
	settling := false
	exhausted, err := wire.Tries(ctx, IsStaleWrite, func() error {
		settling = settling || c.target.doubtful || c.gaveWay()
		enter := c.join
		if settling || c.target.absent { // exclusive: this call reads before it writes, or creates the object
			enter = c.enter
		}
		return c.inside(ctx, enter, func(ctx context.Context) (err error) {
			var now settlement
			if landed, now, err = c.try(ctx, settling); err == nil || len(now.conflicts)+len(now.unread) > 0 {
				settled = now // otherwise keep the conflicts of the previous attempt
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
		c.log.Info("took fields from other managers, or relinquished or shared them", "conflicts", texts(settled.conflicts))
	}
	return landed, nil
}

// inLane calls do inside the object's lane, while no other write of the process to the object is sent.
func (c *call) inLane(ctx context.Context, do func(context.Context) error) error {
	return c.inside(ctx, c.enter, do)
}

// inside is step 3 of Apply: it enters the object's lane by calling enter, calls do, and leaves the
// lane. A dry run calls do without entering the lane.
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

// enter is a function that enters a lane. leave is the function that leaves the lane again.
type enter func(context.Context) (inside context.Context, leave func(), err error)

func (c *call) enter(ctx context.Context) (context.Context, func(), error) {
	return c.config.Lanes.Enter(ctx, c.ref.Key())
}

// join enters the object's lane for a write without a read. Other field managers may have such
// writes in the lane at the same time.
func (c *call) join(ctx context.Context) (context.Context, func(), error) {
	return c.config.Lanes.Join(ctx, c.ref.Key(), c.config.FieldManager)
}

// alone is called inside the object's lane. It waits until the other writes of the process to the
// object have ended, and keeps new ones out.
func (c *call) alone(ctx context.Context) error {
	if c.dryRun {
		return nil
	}
	start := time.Now()
	defer func() { c.waited += time.Since(start) }()
	return lanes.Alone(ctx)
}

// try is one attempt of a call. Unless settling is set, it sends the intent unforced (step 4). If
// there are conflicts, it settles them (step 6). After a stale write the caller calls try again.
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

// sendFirst sends the intent unforced. Fields that the policy relinquishes or shares, by the cached
// object, are left out or sent with the live value.
func (c *call) sendFirst(ctx context.Context) (landed *answer, settled settlement, err error) {
	if read, made := c.foreseeRead(ctx); len(made.made) > 0 {
		landed, err = c.sendConceding(ctx, read, made, true)
		return landed, settlement{concessions: made, conflicts: made.conflicts()}, err
	}
	landed, err = c.send(ctx, request{form: c.intent, pin: c.target.pin()})
	return landed, settlement{}, err
}

// classify is step 5 of Apply: it wraps the error of a request into the typed error of its class. A
// 404 for a subresource becomes errAbsent if the object does not exist, and otherwise a RefusedError.
func (c *call) classify(ctx context.Context, err error) error {
	through := c.intent.Subresource
	switch {
	case errors.Is(err, errAbsent):
		return errAbsent
	case through != "" && apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		err = fmt.Errorf("the kind may have no subresource %q: %w", through, err)
	case through != "" && apierrors.IsNotFound(err): // a live read has confirmed that the object is absent
		return errAbsent
	case through != "" && apierrors.IsBadRequest(err):
		err = fmt.Errorf("the API server rejects the configuration for the subresource %q; if the subresource has a kind of its own, "+
			"as scale has, give an object of that kind as Intent.Body: %w", through, err)
	}
	return Classify(ctx, c.pinnedRef(), err)
}

// explain classifies an error that is not an ownership conflict. An HTTP 409 without causes has one
// of two meanings, and a live read finds out which: the object no longer has the pinned uid, or the
// write lost a race inside the API server, which is a transient error.
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

// absentOr returns the result of a call that ended with err. For errAbsent, the result is Absent if
// the intent has MustExist or a subresource, and a UIDMismatchError if the caller pinned the intent
// to a uid. Other errors are returned unchanged.
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

// end is step 8 of Apply: it returns the Outcome and passes an observation to the Metrics.
func (c *call) end(landed *answer, err error) (Outcome, error) {
	outcome := c.outcome
	outcome.Object, outcome.Requests = c.ref, c.exchange.Requests()
	switch {
	case err != nil:
		outcome.Action = ""
	case landed.action != Unchanged || outcome.Action == "": // otherwise keep the action of an earlier request
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
