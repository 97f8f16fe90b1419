package apply

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/apply/lanes"
)

// Apply applies the intent to its object. If Config.Steady proves that nothing would change, Apply sends no request.
// Otherwise Apply sends the intent without force. If other field managers own fields of the intent with other values,
// the policy makes a Decision on each of these conflicts. If the policy rejects at least one conflict, the object does
// not change. Fields that the policy relinquishes are left out of the request. Fields that the policy shares are sent
// with the live value. Transient errors are retried, up to three attempts in all.
//
// If the policy decides to force a field, Apply first reads the object. Then it applies the intent again without force,
// and the policy decides on the conflicts in the new response. Only then does Apply send the intent with force, pinned
// to the uid and resourceVersion that were read. So Apply never takes a field that another field manager has set after
// the read.
//
// Each Apply decides anew which fields to relinquish and which to share. With Config.Steady, MustExist or Belongs,
// Apply usually decides from the cached object. It then sends at most one request, pinned to the resourceVersion of the
// cached object. If the cached object cannot be used, and the previous Apply relinquished or shared a field of the
// object, Apply takes two requests: it reads the live object before it writes. (Without Config.Steady, the API server's
// schemas are not known. If the field is in a list, Apply then takes three requests.) When the other owners have given up the
// fields, Apply sends the whole intent.
//
// The error is an *IntentError, *NotOursError, *ConflictError, *ContendedError, *UIDMismatchError, *RetryableError,
// *RefusedError, *lanes.ReentryError, or the error of the context. After a RetryableError or a context error, the write
// may have succeeded, because the response may have been lost. After any other error nothing was written, with two
// exceptions. First, if the response to an earlier attempt was lost, that attempt may have succeeded. Second, if the
// API server dropped the status, it has written the other fields (see Intent.Subresource). It is safe to repeat an
// Apply.
func (a *Applier) Apply(ctx context.Context, intent Intent) (Outcome, error) {
	ctx, call := a.begin(ctx, intent)
	landed, err := call.run(ctx)
	return call.end(landed, err)
}

// call is the state of one Apply or Plan. The method run does an Apply, write and applyInTurn send and retry, and attempt
// settles the conflicts.
type call struct {
	*Applier

	exchange *wire.Exchange
	log      logr.Logger
	start    time.Time
	waited   time.Duration  // time spent waiting for the lane
	dryRun   bool           // send dry runs only, and change nothing
	intent   *encodedIntent // the caller's intent, with all its fields; encoded by the method encode
	ref      ObjectRef      // the object, with the resourceVersion of the last read or response
	target   target         // what is known about the object, and what writes are pinned to
	outcome  Outcome        // the outcome so far

	mayGiveWay bool // the policy may relinquish or share a field of the intent
}

// begin starts a call and returns the context for its requests. The caller must call end later.
func (a *Applier) begin(ctx context.Context, intent Intent) (context.Context, *call) {
	ctx, exchange := wire.WithExchange(ctx)
	return ctx, &call{
		Applier: a, exchange: exchange, log: logr.FromContextOrDiscard(ctx), start: time.Now(), intent: &encodedIntent{Intent: intent},
	}
}

// run executes a call up to the last response. If an earlier call has proven that the intent changes nothing, and the
// proof is still valid, run neither encodes nor sends the intent.
func (c *call) run(ctx context.Context) (*answer, error) {
	key := c.steadyKey()
	if proof, ok := c.stillSteady(ctx, key); ok {
		return c.unchanged(proof), nil
	}
	if err := c.encode(); err != nil {
		return nil, err
	}
	if proof, ok := c.becomesSteady(ctx, key); ok {
		return c.unchanged(proof), nil
	}
	if !c.dryRun {
		var err error
		if ctx, err = wire.Before(ctx); err != nil { // see wire.BeforeSending
			return nil, err
		}
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

// unchanged returns the result of a call that needs no request, because the given proof shows that applying the intent
// would change nothing.
func (c *call) unchanged(by proof) *answer {
	c.ref = by.object
	c.outcome.Conflicts, c.outcome.Unread = c.report(by.conflicts), by.unread
	return &answer{action: Unchanged}
}

// write sends the intent, and retries transient errors. If the intent sets MustExist or Belongs, write first pins the
// call to the uid of the existing object.
func (c *call) write(ctx context.Context) (landed *answer, err error) {
	if c.intent.MustExist || c.intent.Belongs != nil {
		if err := c.aim(ctx); err != nil {
			return nil, c.classify(ctx, err)
		}
	}
	_, err = wire.Repeat(ctx, wait.Backoff{Steps: 3, Duration: 100 * time.Millisecond, Factor: 4, Jitter: 0.5}, c.worthRetrying, func() (err error) {
		landed, err = c.applyInTurn(ctx)
		return err
	})
	return landed, err
}

// retryFor is the time after which a call no longer retries transient errors. The caller should then retry through its
// work queue, so that other objects are reconciled meanwhile.
const retryFor = 10 * time.Second

// worthRetrying reports whether the call retries after the given error. It is true for transient errors, until retryFor
// after the start of the call. It is false if the API server is overloaded or sends a Retry-After, because client-go
// has already retried such a request ten times.
func (c *call) worthRetrying(err error) bool {
	retryable, ok := errors.AsType[*RetryableError](err)
	return ok && retryable.After == 0 && !apierrors.IsTooManyRequests(err) && time.Since(c.start) < retryFor
}

// applyInTurn enters the object's lane, sends the intent and settles its conflicts. After a stale write, applyInTurn
// makes another attempt. It makes at most eight attempts.
func (c *call) applyInTurn(ctx context.Context) (landed *answer, err error) {
	var settled settlement
	settling := false
	exhausted, err := wire.Tries(ctx, IsStaleWrite, func() error {
		settling = settling || c.target.doubtful || c.mayGiveWay && c.gaveWay()
		// A call that reads before it writes, or creates the object, needs the lane alone.
		return c.inLane(ctx, settling || c.target.absent, func(ctx context.Context) (err error) {
			var now settlement
			if landed, now, err = c.attempt(ctx, settling); err == nil || len(now.conflicts)+len(now.unread) > 0 {
				settled = now // a failed attempt without conflicts does not overwrite those of an earlier attempt
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
		c.log.Info("resolved ownership conflicts according to the policy", "conflicts", texts(settled.conflicts))
	}
	return landed, nil
}

// inLane calls the function do in the object's lane. With alone, no other writer of the process writes to the object
// meanwhile. Without alone, calls with different field managers may be in the lane at the same time. A dry run does not
// enter the lane.
func (c *call) inLane(ctx context.Context, alone bool, do func(context.Context) error) (err error) {
	if c.dryRun {
		return do(ctx)
	}
	start := time.Now()
	var leave func()
	if alone {
		ctx, leave, err = c.config.Lanes.Enter(ctx, c.ref.Key())
	} else {
		ctx, leave, err = c.config.Lanes.Join(ctx, c.ref.Key(), c.config.FieldManager)
	}
	c.waited += time.Since(start)
	if err != nil {
		return err
	}
	defer leave()
	return do(ctx)
}

// alone waits until the other writes of the process to the object have ended. No other write of the process to the
// object begins until this call leaves the lane. The call must already be in the object's lane.
func (c *call) alone(ctx context.Context) error {
	if c.dryRun {
		return nil
	}
	start := time.Now()
	defer func() { c.waited += time.Since(start) }()
	return lanes.Alone(ctx)
}
