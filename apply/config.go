package apply

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/apply/lanes"
	"coapply.dev/internal/recent"
)

// Config configures an Applier.
type Config struct {
	// FieldManager is the name that owns the applied fields: 1 to 128 printable characters. Each
	// reconciler needs its own: reconcilers with one field manager remove each other's fields.
	FieldManager string
	// Policy decides ownership conflicts. The zero value rejects every conflict.
	Policy Policy
	// LiveReader reads from the API server and not from a cache, for example to settle conflicts. Use
	// mgr.GetAPIReader(). The objects that it returns must have their managed fields.
	LiveReader client.Reader
	// Lanes serialise the writes of the process to one object. Give the same set to all appliers
	// and updaters. If Lanes is nil, New makes a set for this Applier alone.
	Lanes *lanes.Set
	// Steady proves that applying an intent would change nothing, and the intent is then not sent. All
	// appliers of a process share one SteadyState. If Steady is nil, each intent is sent.
	Steady *SteadyState
	// Loops counts how often each object is changed, and detects endless loops. All appliers of a
	// process share one Loops. If Loops is nil, no loop is reported. A loop is logged, and is
	// reported in ApplyObservation.Loop. Detection needs RecordExchange, or unstructured intents.
	Loops *Loops
	// Metrics receives one observation for each Apply. If Metrics is nil, nothing is observed.
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
		errs = append(errs, errors.New("LiveReader: a reader that does not read from a cache is needed, such as mgr.GetAPIReader()"))
	}
	return errors.Join(append(errs, c.Policy.err)...)
}

// Applier applies intents to objects under one field manager, by Server-Side Apply. It is safe for
// concurrent use.
type Applier struct {
	client   client.Client
	config   Config
	reads    *cacheReads // reads through client, with a time limit
	seen     *seenVersions
	made     *made
	reported *reported
}

// New returns an Applier that writes with c. c may read from a cache: for intents with MustExist or
// Belongs, Apply reads the object with c.
func New(c client.Client, config Config) (*Applier, error) {
	if c == nil {
		return nil, errors.New("apply: New: a client is needed, such as mgr.GetClient()")
	}
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("apply: %w", err)
	}
	if config.Lanes == nil {
		config.Lanes = lanes.New()
	}
	return &Applier{
		client: c, config: config, reads: newCacheReads(c),
		seen: recent.New[seenKey, wire.Identity](seenObjects), made: recent.New[lanes.Key, madeObject](seenObjects),
		reported: recent.New[reportedKey, []uint64](reportedObjects),
	}, nil
}

// FieldManager returns the name of the field manager under which the Applier applies.
func (a *Applier) FieldManager() string { return a.config.FieldManager }

// Config returns the Applier's Config, for code that writes under the same field manager and in the
// same lanes. Lanes is never nil in the returned Config.
func (a *Applier) Config() Config { return a.config }

// Client returns the client with which the Applier writes.
func (a *Applier) Client() client.Client { return a.client }

// Metrics receives one observation for each Apply and one for each call of apply/update.
// Implementations must be safe for concurrent use. Package apply/metrics has one for Prometheus.
type Metrics interface {
	// ObserveApply is called once at the end of each Apply.
	ObserveApply(ApplyObservation)
	// ObserveUpdate is called once at the end of each get-modify-update call.
	ObserveUpdate(UpdateObservation)
}

// ApplyObservation describes one Apply.
type ApplyObservation struct {
	FieldManager string
	Kind         schema.GroupVersionKind
	Object       ObjectRef // Outcome.Object
	Result       string    // Outcome.Action, or ResultOf the error
	Requests     int
	Attempts     int
	Conflicts    map[Decision]int // number of conflicts by decision, without those that are Remembered
	Forced       []Conflict       // the conflicts that this apply forced; empty after an error
	Duration     time.Duration
	Waited       time.Duration // the part of Duration that was spent waiting for the lane
	Loop         string        // a message if this apply was found to be part of an endless loop, see Loops
}

// UpdateObservation describes one get-modify-update call.
type UpdateObservation struct {
	FieldManager string
	Kind         schema.GroupVersionKind
	Verb         string // the Updater's method: Do, Status, EnsureFinalizer or RemoveFinalizer
	Result       string // "Success", or ResultOf the error
	Attempts     int    // update.Result.Attempts: attempts in the object's lane; 0 if there was nothing to write
	StaleWrites  int
	Duration     time.Duration
	Waited       time.Duration // the part of Duration that was spent waiting for the lane
}

// ResultOf returns a word from a fixed set that names the class of an error in metrics and events.
// It is "Success" for nil, and "Error" for an error that belongs to no class.
func ResultOf(err error) string {
	switch {
	case err == nil:
		return "Success"
	case errors.Is(err, ErrInvalidIntent):
		return "InvalidIntent"
	case errors.Is(err, ErrConflict):
		return "Conflict"
	case errors.Is(err, ErrContended):
		return "Contended"
	case errors.Is(err, ErrUIDMismatch):
		return "UIDMismatch"
	case errors.Is(err, ErrStaleWrite):
		return "StaleWrite"
	case errors.Is(err, lanes.ErrReentry):
		return "Reentry"
	case errors.Is(err, ErrRetryable):
		return "Retryable"
	case errors.Is(err, ErrRefused):
		return "Refused"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "Cancelled"
	}
	return "Error"
}
