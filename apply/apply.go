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
// object, Apply takes two requests: it reads the live object before it writes. (Without Config.Steady the API server's
// schemas are not known, and it takes three requests if the field is in a list.) When the other owners have given up the
// fields, Apply sends the whole intent.
//
// The error is an *IntentError, *NotOursError, *ConflictError, *ContendedError, *UIDMismatchError, *RetryableError,
// *RefusedError, *lanes.ReentryError, or the error of the context. After a RetryableError or a context error, the write
// may have succeeded, because the response may have been lost. After any other error nothing was written, with two
// exceptions. First, if the response to an earlier attempt was lost, that attempt may have succeeded. Second, if the
// API server dropped the status, it has written the other fields (see Intent.Subresource). It is safe to repeat an
// Apply.
func (a *Applier) Apply(ctx context.Context, intent Intent) (Outcome, error) {
	ctx, call := a.begin(ctx)
	landed, err := call.run(ctx, intent)
	return call.end(landed, err)
}

// call is the state of one Apply, Plan or Release. The method run does an Apply, write and applyInTurn send and retry, and
// attempt settles the conflicts.
type call struct {
	*Applier

	exchange *wire.Exchange
	log      logr.Logger
	start    time.Time
	waited   time.Duration  // time spent waiting for the lane
	dryRun   bool           // send dry runs only, and change nothing
	intent   *encodedIntent // the caller's intent, with all its fields
	ref      ObjectRef      // the object, with the resourceVersion of the last read or response
	target   target         // what is known about the object, and what writes are pinned to
	outcome  Outcome        // the outcome so far
}

// begin starts a call and returns the context for its requests. The caller must call end later.
func (a *Applier) begin(ctx context.Context) (context.Context, *call) {
	ctx, exchange := wire.WithExchange(ctx)
	return ctx, &call{Applier: a, exchange: exchange, log: logr.FromContextOrDiscard(ctx), start: time.Now()}
}

// run executes a call up to the last response. If an earlier call has proven that the intent changes nothing, and the
// proof is still valid, run neither encodes nor sends the intent.
func (c *call) run(ctx context.Context, intent Intent) (*answer, error) {
	key := c.steadyKey(intent)
	if proof, ok := c.stillSteady(ctx, key, intent); ok {
		return c.unchanged(proof), nil
	}
	if err := c.encode(intent); err != nil {
		return nil, err
	}
	if proof, ok := c.becomesSteady(ctx, key); ok {
		proof.conflicts = c.report(intent.Subresource, proof.conflicts)
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

// encode converts the intent's configuration to JSON values, and validates the intent.
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

// about sets the intent of a call, the reference to the intent's object, and the key-value pairs of the call's log
// lines.
func (c *call) about(intent *encodedIntent) {
	c.intent, c.ref = intent, intent.ref
	c.target = target{uid: intent.ref.UID, read: c.target.read}
	c.log = c.log.WithValues("fieldManager", c.config.FieldManager, "kind", c.ref.Kind, "object", c.ref.NamespacedName)
}

// unchanged returns the result of a call that needs no request, because the given proof shows that applying the intent
// would change nothing.
func (c *call) unchanged(by proof) *answer {
	c.ref = by.object
	c.outcome.Conflicts, c.outcome.Unread = by.conflicts, by.unread
	return nothingSent(Unchanged)
}

// write sends the intent, and retries transient errors. If the intent sets MustExist or Belongs, write first pins the
// call to the uid of the existing object.
func (c *call) write(ctx context.Context) (landed *answer, err error) {
	if err := c.aim(ctx); err != nil {
		return nil, c.classify(ctx, err)
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
		settling = settling || c.target.doubtful || c.gaveWay()
		enter := c.join
		if settling || c.target.absent { // a call that reads before it writes, or creates the object, needs the lane alone
			enter = c.enter
		}
		return c.inside(ctx, enter, func(ctx context.Context) (err error) {
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
	c.outcome.Conflicts = c.report(c.intent.Subresource, settled.conflicts)
	if isNew := func(conflict Conflict) bool { return !conflict.Remembered }; slices.ContainsFunc(settled.conflicts, isNew) {
		c.log.Info("resolved ownership conflicts according to the policy", "conflicts", texts(settled.conflicts))
	}
	return landed, nil
}

// inside calls the function do in the object's lane, which it enters with the given enter function: with c.enter, no
// other writer of the process writes to the object meanwhile. A dry run does not enter the lane.
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

// enter is the type of a function that enters a lane: call.enter or call.join. The caller must call the returned
// function leave to leave the lane.
type enter func(context.Context) (inside context.Context, leave func(), err error)

func (c *call) enter(ctx context.Context) (context.Context, func(), error) {
	return c.config.Lanes.Enter(ctx, c.ref.Key())
}

// join enters the object's lane for a write that needs no preceding read. Calls with different field managers may be
// in the lane at the same time if all of them entered it with join.
func (c *call) join(ctx context.Context) (context.Context, func(), error) {
	return c.config.Lanes.Join(ctx, c.ref.Key(), c.config.FieldManager)
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

// classify converts the error of a request to one of the package's typed errors. For a 404 from a subresource, the
// result is errAbsent if the object does not exist, and a RefusedError if the object exists.
func (c *call) classify(ctx context.Context, err error) error {
	through := c.intent.Subresource
	switch {
	case errors.Is(err, errAbsent):
		return errAbsent
	case through != "" && apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		err = fmt.Errorf("the kind may lack subresource %q: %w", through, err)
	case through != "" && apierrors.IsNotFound(err): // checkNotFound has confirmed that the object is absent
		return errAbsent
	case through != "" && apierrors.IsBadRequest(err):
		err = fmt.Errorf("the API server rejects the configuration for the subresource %q; if the subresource has a kind of its own, "+
			"as scale has, give an object of that kind as Intent.Body: %w", through, err)
	}
	return Classify(ctx, c.pinnedRef(), err)
}

// explain classifies an error that is not an ownership conflict. An HTTP 409 without status causes has one of two
// reasons: the object no longer has the pinned uid, or the write lost a race inside the API server (a transient
// error). If the write was pinned to a uid, explain reads the live object to distinguish the two.
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
	case readErr != nil: // readErr may be errAbsent
		return c.classify(ctx, readErr)
	case live.GetUID() != c.target.uid:
		return &UIDMismatchError{Object: c.pinnedRef(), Err: err}
	}
	return &RetryableError{Object: c.ref, Err: err}
}

// errAbsent means that the object of the call does not exist, and must not be created by the call.
var errAbsent = errors.New("the object does not exist")

// absentOr returns the result of a call that failed with the given error. For errAbsent, the result is the action
// Absent if the intent sets MustExist or the call is not pinned to a uid. If the call is pinned to a uid and the intent
// does not set MustExist, the result is a UIDMismatchError. Other errors are returned unchanged.
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

// end returns the Outcome of the call, and passes an observation to Config.Metrics.
func (c *call) end(landed *answer, err error) (Outcome, error) {
	outcome := c.outcome
	outcome.Object, outcome.Requests = c.ref, c.exchange.Requests()
	switch {
	case err != nil:
		outcome.Action = ""
	case landed.action != Unchanged || outcome.Action == "": // keep Created or Configured of an earlier request
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
