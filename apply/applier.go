package apply

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/recent"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/apply/lanes"
	"coapply.dev/apply/steady"
	"coapply.dev/fieldowners"
)

// Config of an Applier.
type Config struct {
	// FieldManager is the name that owns what is applied: 1 to 128 printable
	// characters, one per reconciler. Two writers under one name undo each other.
	FieldManager string
	// Policy decides conflicts. The zero value rejects every one.
	Policy Policy
	// LiveReader reads past the cache, where a conflict is judged: mgr.GetAPIReader().
	// What it gives has to have its managed fields.
	LiveReader client.Reader
	// Lanes are those of the process: give the same to all appliers and updaters, so
	// that they write to an object one after another. nil is a set of its own.
	Lanes *lanes.Set
	// Steady tells which intents need no request. All appliers of a process share one;
	// nil sends each intent.
	Steady *SteadyState
	// Metrics may be nil.
	Metrics Metrics
	// Hide reports whether the values of a field are left out of what people read: errors,
	// events, conditions and logs. nil is HiddenByDefault. Values of Secrets are hidden
	// whatever it says. It must be safe for concurrent use.
	Hide func(object ObjectRef, path fieldowners.Path) bool
	// MaxShrink guards against incomplete intents, the most common accident with
	// Server-Side Apply: an intent that gives up more than this share (above 0, up to
	// 1) of the fields that this manager owns of an object is refused with a
	// ShrinkError. It is judged by the object in the cache. 0 is no guard.
	MaxShrink float64
	// Contract says what is this manager's. An intent with Belongs takes that back from
	// the owner whom the server makes up where managed fields were wiped
	// (fieldowners.BeforeFirstApply), and from nobody else, before it is applied: otherwise
	// what it changes conflicts, and what it leaves out stays. See Outcome.TakenBack. nil
	// takes nothing back.
	Contract Contract
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
	if c.MaxShrink < 0 || c.MaxShrink > 1 || math.IsNaN(c.MaxShrink) {
		errs = append(errs, fmt.Errorf("MaxShrink: %v is no share from 0 to 1", c.MaxShrink))
	}
	return errors.Join(append(errs, c.Policy.validate())...)
}

// Applier applies intents under one field manager. It is safe for concurrent use.
type Applier struct {
	client  client.Client
	config  Config
	metrics Metrics
	reads   *cacheReads // of the client
	seen    *seenVersions
	made    *made
	memory  *memory

	contract map[schema.GroupKind][]fieldowners.Path // Config.Contract
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
	if config.Lanes == nil {
		config.Lanes = lanes.New()
	}
	contract, err := appliedBy(config.FieldManager, config.Contract)
	if err != nil {
		return nil, fmt.Errorf("apply: %w", err)
	}
	a := &Applier{
		contract: contract, client: c, config: config, metrics: config.Metrics, reads: newCacheReads(c),
		seen: recent.New[seenKey, wire.Identity](seenObjects), made: recent.New[lanes.Key, madeObject](seenObjects),
		memory: recent.New[memoryKey, remembered](rememberedObjects),
	}
	if a.metrics == nil {
		a.metrics = NoMetrics{}
	}
	return a, nil
}

// FieldManager is the name that owns what is applied.
func (a *Applier) FieldManager() string { return a.config.FieldManager }

// Config is what the Applier was made with: for those who write beside it, under its name
// and in its lanes, which are never nil here.
func (a *Applier) Config() Config { return a.config }

// Client is what the Applier writes by.
func (a *Applier) Client() client.Client { return a.client }

// Apply brings the object to the intent. Where Config.Steady proves that nothing
// would change, nothing is sent. Else it sends the intent unforced and lets
// the policy settle what conflicts, field by field, see Decision. Where a conflict
// is rejected nothing lands. Relinquished and shared fields give way first; where
// the rest of the conflicts is to be forced, the object is read, applied unforced
// again, judged by that answer, and only then forced, pinned to the uid and
// resourceVersion of the read. A field that became contested in between is
// therefore never taken. What fails for the moment is tried three times.
//
// In which fields an intent gave way is remembered: the next Apply starts with what
// was left of it, and one request is enough for as long as the other owners stay.
// The server's answer shows when they let go; the whole intent is sent then. That
// takes RecordExchange, or unstructured intents. A field that another process migrates to
// this manager meanwhile is missing for one write, unless the object is read before:
// for Steady, MaxShrink, or an intent with Belongs or MustExist. Where the policy depends on who the
// other owner is and a new owner is to be rejected, what lands with that one
// request is what had landed before.
//
// Errors are one of *IntentError, *ShrinkError, *NotOursError, *ConflictError, *ContendedError,
// *UIDMismatchError, *RetryableError, *RefusedError or the end of the context.
// After each of them but a RetryableError or the end of the context, whose answer
// may have been lost, nothing of the intent landed, with two exceptions: of one that
// gave way before, what was not contested then may have, if others took or let go of
// fields in the meantime; and so may a try whose answer was lost, if a later one of
// the same call met another error. Repeating an Apply is safe.
func (a *Applier) Apply(ctx context.Context, intent Intent) (Outcome, error) {
	ctx, call := a.begin(ctx)
	action, err := call.run(ctx, intent)
	return call.end(action, err)
}

// begin starts a call; end has to follow.
func (a *Applier) begin(ctx context.Context) (context.Context, *call) {
	ctx, exchange := wire.WithExchange(ctx)
	return ctx, &call{Applier: a, exchange: exchange, log: logr.FromContextOrDiscard(ctx), start: time.Now()}
}

// call is one Apply under way.
type call struct {
	*Applier

	exchange    *wire.Exchange
	log         logr.Logger
	start       time.Time
	intent      *encodedIntent
	mustExist   bool
	dryRun      bool // the server is to change nothing
	ref         ObjectRef
	attempts    int
	waited      time.Duration // for the lane
	conflicts   []Conflict
	unread      []*fieldowners.EntryError // of the last object that conflicts were judged by
	concessions concessions               // fields in which the intent gives way
	takenBack   []fieldowners.Path
	shared      []fieldowners.Shared // with others, and the policy rejects a conflict with them
	sent        *encodedIntent       // with the last request
	answer      *unstructured.Unstructured
	differ      []Difference
	birth       birth // of an object that is ours from birth

	provenAs steady.Key    // what the steady-state check remembers it as
	looked   client.Object // what it judges by; never written to

	// readVersion is the resourceVersion that an object that must exist was read at.
	readVersion string
	// answered is what the client read the last answer into.
	answered runtime.ApplyConfiguration
	// did is what the first request did that changed something.
	did Action
}

// run is the order of steps.
func (c *call) run(ctx context.Context, intent Intent) (Action, error) {
	if c.stillSteady(ctx, intent) {
		return Unchanged, nil
	}
	encoded, err := encode(intent)
	if err != nil {
		if invalid := (*IntentError)(nil); errors.As(err, &invalid) {
			c.ref = invalid.Object // as far as known
		}
		return "", err
	}
	c.intent, c.ref, c.mustExist, c.birth = encoded, encoded.ref, intent.MustExist, birth{}
	if !c.mustExist {
		c.birth.belongs = intent.Belongs
	}
	c.log = c.log.WithValues("fieldManager", c.config.FieldManager, "kind", c.ref.Kind, "object", c.ref.NamespacedName)
	if err := wire.CheckScope(c.client, c.ref.GroupVersionKind, c.ref.NamespacedName); err != nil {
		return "", &IntentError{Object: c.ref, Err: err}
	}
	if c.becomesSteady(ctx, intent) {
		return Unchanged, nil
	}
	if intent.Before != nil && !c.dryRun {
		if ctx, err = intent.Before(ctx); err != nil {
			return "", err
		}
	}
	if err := c.prepare(ctx, intent); err != nil {
		return c.absentOr(c.classify(ctx, err))
	}
	if c.plansToTakeBack() {
		return Configured, nil
	}
	action, err := c.applyOnce(ctx)
	if c.lostMeanwhile(intent, err) {
		if err := c.takeBack(ctx, intent); err != nil {
			return c.absentOr(c.classify(ctx, err))
		}
		if c.plansToTakeBack() {
			return Configured, nil
		}
		if len(c.takenBack) > 0 {
			action, err = c.applyOnce(ctx)
		}
	}
	for backoff := retryBackoff(); c.worthRetrying(err) && backoff.Steps > 1; {
		if err := wire.Sleep(ctx, backoff.Step()); err != nil {
			return "", err
		}
		action, err = c.applyOnce(ctx)
	}
	if err != nil {
		return c.absentOr(err)
	}
	if action == Unchanged && c.did != "" {
		action = c.did // by an earlier request of this call
	}
	c.compareAnswer()
	return action, c.statusLanded()
}

// retryBackoff bounds step 7, within retryFor.
func retryBackoff() wait.Backoff {
	return wait.Backoff{Steps: 3, Duration: 100 * time.Millisecond, Factor: 4, Jitter: 0.5}
}

// retryFor is how long a call may have taken for another try. Longer waits belong
// into a queue, where they hold up nothing else.
const retryFor = 10 * time.Second

// worthRetrying tells what may pass within a moment. Where the server is too busy, or
// says how long to wait, client-go has tried ten times already.
func (c *call) worthRetrying(err error) bool {
	retryable, ok := errors.AsType[*RetryableError](err)
	return ok && retryable.After == 0 && !apierrors.IsTooManyRequests(err) && time.Since(c.start) < retryFor
}

// prepare does what takes a look at the object in the cache.
func (c *call) prepare(ctx context.Context, intent Intent) error {
	guarded := c.config.MaxShrink > 0 && !intent.MayShrink
	if !c.mustExist && !guarded && c.birth.belongs == nil {
		return nil
	}
	cached, err := c.cached(ctx)
	switch {
	case c.mustExist && err == nil && !c.takes(intent, cached):
		err = errAbsent
	case c.birth.belongs != nil && (err == nil || errors.Is(err, errAbsent)):
		c.expect(cached)
	}
	if c.mustExist && err == nil {
		err = c.pinTo(cached)
	}
	if guarded && err == nil {
		err = c.guardShrinking(ctx, cached)
	}
	if err == nil && c.hasContract(intent) && c.takes(intent, cached) && (len(cached.GetManagedFields()) == 0 || len(c.lost(cached)) > 0) {
		err = c.takeBack(ctx, intent)
	}
	if !c.mustExist && errors.Is(err, errAbsent) {
		return nil
	}
	return err
}

// cached gives the object as the steady-state check has read it, or else as the client
// reads it; recall judges by it, too.
func (c *call) cached(ctx context.Context) (client.Object, error) {
	if c.looked != nil {
		return c.looked, nil
	}
	object, err := c.readCached(ctx)
	if err == nil {
		c.looked = object
	}
	return object, err
}

// errAbsent says that there is no object to apply to.
var errAbsent = errors.New("the object does not exist")

// absentOr says what it means that there is no object: one that must exist is to
// be waited for, as is one whose subresource is meant; one with a known uid is gone.
func (c *call) absentOr(err error) (Action, error) {
	if !errors.Is(err, errAbsent) {
		return "", err
	}
	c.conflicts = nil
	if c.mustExist || c.intent.ref.UID == "" {
		return Absent, nil
	}
	return "", &UIDMismatchError{Object: c.intent.ref, Err: err}
}

// classify keeps the absence of the object apart from what the server refuses.
func (c *call) classify(ctx context.Context, err error) error {
	through := c.intent.subresource
	switch {
	case errors.Is(err, errAbsent), through != "" && wire.IsAbsent(err, c.ref.Name):
		return errAbsent
	case through != "" && apierrors.IsNotFound(err):
		err = fmt.Errorf("is there a subresource %q of this kind? %w", through, err)
	case through != "" && apierrors.IsBadRequest(err):
		err = fmt.Errorf("a subresource with a kind of its own, as scale has, takes that kind as Intent.Body: %w", err)
	}
	return Classify(ctx, c.intent.ref, err)
}

// explain is step 5 for what is no ownership conflict. A 409 without causes is a
// uid that no longer exists, which only a live read tells, or a race inside the
// server, which passes.
func (c *call) explain(ctx context.Context, err error) error {
	classified := c.classify(ctx, err)
	if !IsStaleWrite(classified) {
		return classified
	}
	if c.intent.ref.UID == "" {
		return &RetryableError{Object: c.ref, Err: err}
	}
	live, readErr := c.readLive(ctx)
	switch {
	case errors.Is(readErr, errAbsent):
		return errAbsent
	case readErr == nil && live.GetUID() != c.intent.ref.UID:
		return &UIDMismatchError{Object: c.intent.ref, Err: err}
	case readErr != nil:
		return c.classify(ctx, readErr)
	}
	return &RetryableError{Object: c.ref, Err: err}
}
