package apply

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Config of an Applier.
type Config struct {
	// FieldManager is the name that owns what is applied: 1 to 128 printable
	// characters, one per reconciler. Two writers under one name undo each other.
	FieldManager string
	// Policy decides conflicts. The zero value rejects every one.
	Policy Policy
	// LiveReader reads past the cache, where a conflict is judged: mgr.GetAPIReader().
	LiveReader client.Reader
	// Metrics may be nil.
	Metrics Metrics
}

func (c Config) validate() error {
	var errs []error
	if invalid := validation.ValidateFieldManager(c.FieldManager, field.NewPath("FieldManager")); len(invalid) > 0 {
		errs = append(errs, invalid.ToAggregate())
	} else if c.FieldManager == "" {
		errs = append(errs, errors.New("FieldManager: a name is needed"))
	}
	if c.LiveReader == nil {
		errs = append(errs, errors.New("LiveReader: a reader past the cache is needed, such as mgr.GetAPIReader()"))
	}
	return errors.Join(append(errs, c.Policy.err)...)
}

// Applier applies intents under one field manager. It is safe for concurrent use.
type Applier struct {
	client  client.Client
	config  Config
	metrics Metrics
	seen    *seenVersions
}

// New gives an Applier. Reads of the client may come from a cache; it is used to
// find the uid of objects that must exist.
func New(c client.Client, config Config) (*Applier, error) {
	if c == nil {
		return nil, errors.New("apply: a client is needed")
	}
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("apply: %w", err)
	}
	a := &Applier{client: c, config: config, metrics: config.Metrics, seen: newSeenVersions()}
	if a.metrics == nil {
		a.metrics = NoMetrics{}
	}
	return a, nil
}

// FieldManager is the name that owns what is applied.
func (a *Applier) FieldManager() string { return a.config.FieldManager }

// Apply brings the object to the intent. It sends the intent unforced and lets
// the policy settle what conflicts: where every conflict is to be forced, the
// object is read, applied unforced again, judged by that answer, and only then
// forced, pinned to the uid and resourceVersion of the read. A field that became
// contested in between is therefore never taken.
//
// Errors are one of *IntentError, *ConflictError, *ContendedError,
// *UIDMismatchError, *RetryableError, *RefusedError or the end of the context.
// After each of them but a RetryableError or the end of the context, whose answer
// may have been lost, nothing of the intent landed. Repeating an Apply is safe.
func (a *Applier) Apply(ctx context.Context, intent Intent) (Outcome, error) {
	start := time.Now()
	ctx, exchange := withExchange(ctx)
	call := &call{Applier: a, exchange: exchange, log: logr.FromContextOrDiscard(ctx)}
	action, err := call.run(ctx, intent)
	outcome := Outcome{
		Action:    action,
		Object:    call.ref,
		Requests:  exchange.sentInAll(),
		Attempts:  call.attempts,
		Conflicts: call.conflicts,
	}
	call.report(outcome, err, time.Since(start))
	return outcome, err
}

// call is one Apply under way.
type call struct {
	*Applier

	exchange  *exchange
	log       logr.Logger
	intent    *encodedIntent
	mustExist bool
	ref       ObjectRef
	attempts  int
	conflicts []Conflict

	// readVersion is the resourceVersion that an object that must exist was read at.
	readVersion string
}

// run is the order of steps. Lanes (one write at a time to one object) will wrap
// everything behind the encoding; the steady-state check will stand before the
// first send.
func (c *call) run(ctx context.Context, intent Intent) (Action, error) {
	encoded, err := encode(intent)
	if err != nil {
		if invalid := (*IntentError)(nil); errors.As(err, &invalid) {
			c.ref = invalid.Object // as far as known
		}
		return "", err
	}
	c.intent, c.ref, c.mustExist = encoded, encoded.ref, intent.MustExist
	c.log = c.log.WithValues("fieldManager", c.config.FieldManager, "kind", c.ref.Kind, "object", c.ref.NamespacedName)
	if c.mustExist {
		if err := c.pinToCached(ctx); err != nil {
			return c.absentOr(c.classify(ctx, err))
		}
	}
	action, err := c.send(ctx, pin{uid: c.intent.ref.UID}, false)
	if IsOwnershipConflict(err) {
		action, err = c.settle(ctx, err)
	}
	if err != nil {
		return c.absentOr(c.explain(ctx, err))
	}
	return action, nil
}

// errAbsent says that there is no object to apply to.
var errAbsent = errors.New("the object does not exist")

func (c *call) absentOr(err error) (Action, error) {
	if c.mustExist && errors.Is(err, errAbsent) {
		c.conflicts = nil
		return Absent, nil
	}
	return "", err
}

// pinToCached finds the uid of an object that must exist. The read has the typed
// form if the scheme knows one, as informers usually have it.
func (c *call) pinToCached(ctx context.Context) error {
	var object client.Object
	if known, err := c.client.Scheme().New(c.ref.GroupVersionKind); err == nil {
		object, _ = known.(client.Object)
	}
	if object == nil {
		object = c.newLive()
	}
	err := c.client.Get(ctx, c.ref.NamespacedName, object)
	switch {
	case apierrors.IsNotFound(err):
		return errAbsent
	case err != nil:
		return fmt.Errorf("reading it: %w", err)
	case c.intent.ref.UID != "" && c.intent.ref.UID != object.GetUID():
		return &UIDMismatchError{Object: c.intent.ref, Err: fmt.Errorf("the object read has uid %s", object.GetUID())}
	}
	if c.intent.ref.UID = object.GetUID(); c.intent.ref.UID == "" {
		return errors.New("it cannot be pinned: the object read has no uid")
	}
	c.readVersion = object.GetResourceVersion()
	return nil
}

// send is one apply request.
func (c *call) send(ctx context.Context, p pin, force bool) (Action, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	config, err := c.intent.fresh(p)
	if err != nil {
		return "", err
	}
	options := []client.ApplyOption{client.FieldOwner(c.config.FieldManager)}
	if force {
		options = append(options, client.ForceOwnership)
	}
	c.attempts++
	c.exchange.calling()
	err = c.intent.withoutValues(c.client.Apply(ctx, config, options...))
	c.exchange.called(err)
	c.log.V(1).Info("applied", "attempt", c.attempts, "force", force, "pinnedTo", p.resourceVersion, "error", err)
	switch {
	case err != nil && c.exchange.lastAnswer().status != 0: // it landed, and the client cannot read how
		return "", &RetryableError{Object: c.ref, Err: fmt.Errorf("reading the answer: %w", err)}
	case err != nil:
		return "", err
	}
	return c.judge(config), nil
}

// readLive reads the object past the cache.
func (c *call) readLive(ctx context.Context) (*unstructured.Unstructured, error) {
	live := c.newLive()
	c.exchange.calling()
	err := c.config.LiveReader.Get(ctx, c.ref.NamespacedName, live)
	c.exchange.called(err)
	if apierrors.IsNotFound(err) {
		return nil, errAbsent
	}
	return live, err
}

func (c *call) newLive() *unstructured.Unstructured {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(c.ref.GroupVersionKind)
	return live
}

// classify keeps the absence of the object apart from what the server refuses.
func (c *call) classify(ctx context.Context, err error) error {
	if errors.Is(err, errAbsent) {
		return err
	}
	return Classify(ctx, c.intent.ref, err)
}

// explain is step 5 for what is no ownership conflict. A 409 without causes is a
// uid that no longer exists, which only a live read tells, or a race inside the
// server, which passes.
func (c *call) explain(ctx context.Context, err error) error {
	classified := c.classify(ctx, err)
	if _, stale := errors.AsType[*StaleWriteError](classified); !stale {
		return classified
	}
	if c.intent.ref.UID == "" {
		return &RetryableError{Object: c.ref, Err: err}
	}
	live, readErr := c.readLive(ctx)
	switch {
	case errors.Is(readErr, errAbsent) && c.mustExist:
		return errAbsent
	case errors.Is(readErr, errAbsent) || readErr == nil && live.GetUID() != c.intent.ref.UID:
		return &UIDMismatchError{Object: c.intent.ref, Err: err}
	case readErr != nil:
		return c.classify(ctx, readErr)
	}
	return &RetryableError{Object: c.ref, Err: err}
}

// report is step 8.
func (c *call) report(outcome Outcome, err error, took time.Duration) {
	result := string(outcome.Action)
	if err != nil {
		result = ResultOf(err)
	}
	decided := map[Decision]int{}
	for _, conflict := range outcome.Conflicts {
		decided[conflict.Decision]++
	}
	c.metrics.ObserveApply(ApplyObservation{
		FieldManager: c.config.FieldManager,
		Kind:         c.ref.GroupVersionKind,
		Result:       result,
		Requests:     outcome.Requests,
		Attempts:     outcome.Attempts,
		Conflicts:    decided,
		Duration:     took,
	})
}
