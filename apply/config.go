package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/cacheread"
	"coapply.dev/apply/internal/ledger"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/apply/lanes"
)

// Config configures an Applier.
type Config struct {
	// FieldManager is the name under which the Applier owns fields: 1 to 128 bytes of printable characters. Each reconciler
	// needs its own name: two reconcilers with one field manager remove each other's fields.
	FieldManager string
	// Policy decides the ownership conflicts. The zero value rejects every conflict.
	Policy Policy
	// LiveReader reads objects from the API server, and not from a cache, for example to settle conflicts. Use
	// mgr.GetAPIReader(). It must return the objects with their managed fields.
	LiveReader client.Reader
	// Lanes serialise the writes of a process to one object. Give the same set to all Appliers and Updaters of a
	// process. If Lanes is nil, New makes a set for this Applier alone.
	Lanes *lanes.Set
	// Steady proves, without a request, that applying an intent would change nothing. Such an intent is not sent. Give
	// the same SteadyState to all Appliers of a process. If Steady is nil, each intent is sent.
	Steady *SteadyState
	// Loops detects endless loops: objects that the Applier changes again and again, because another writer undoes each
	// change. A loop is logged, and reported in ApplyObservation.Loop. Give the same Loops to all Appliers of a
	// process. If Loops is nil, no loop is reported.
	Loops *Loops
	// Metrics receives an observation of each Apply. If Metrics is nil, nothing is observed.
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

// Applier applies intents to objects by Server-Side Apply, under one field manager. It is safe for concurrent use.
type Applier struct {
	client client.Client
	config Config
	reads  *cacheread.Reads // reads objects with client, with a time limit
	ledger *ledger.Ledger   // what this process knows of objects from its own writes
}

// rememberedObjects is the number of objects of which an Applier without SteadyState remembers its own writes.
const rememberedObjects = 4096

// New returns an Applier that writes with the given client. Apply also uses the client to read the object of an intent
// with MustExist or Belongs. These reads may come from a cache.
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
	known := ledger.New(rememberedObjects)
	if config.Steady != nil {
		known = config.Steady.ledger
	}
	return &Applier{client: c, config: config, reads: cacheread.New(c), ledger: known}, nil
}

// RecordExchange wraps an HTTP transport to show Appliers what the client does not return: the number of HTTP requests,
// including client-go's own retries, and whether an apply created the object. Wrap the rest.Config before any client is
// made from it:
//
//	cfg.Wrap(apply.RecordExchange)
//
// Without RecordExchange, Outcome.Requests counts the client's calls instead of the HTTP requests, and Outcome.Action
// is Configured even if an apply created the object.
//
// With RecordExchange, a process may send several applies to one object at the same time if the network is slow. On a
// fast network, or without RecordExchange, it sends them one after the other. To measure the round-trip time,
// RecordExchange sends a GET of /livez while several applies to one object are queued. It records only Appliers' requests.
func RecordExchange(next http.RoundTripper) http.RoundTripper { return wire.RecordExchange(next) }

// FieldManager returns the name of the field manager under which the Applier applies.
func (a *Applier) FieldManager() string { return a.config.FieldManager }

// Config returns the Applier's Config, for other writers that share its field manager and its lanes. Lanes is never nil
// in the returned Config.
func (a *Applier) Config() Config { return a.config }

// Client returns the client with which the Applier writes.
func (a *Applier) Client() client.Client { return a.client }

// Metrics receives an observation of each Apply, and of each call of an Updater of package apply/update. An
// implementation must be safe for concurrent use. Package apply/metrics contains an implementation for Prometheus.
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
	Object       ObjectRef // as in Outcome.Object
	Result       string    // the Outcome.Action, or ResultOf(err) after an error
	Requests     int
	Attempts     int
	Conflicts    map[Decision]int // number of conflicts by decision; conflicts with Remembered set are not counted
	Forced       []Conflict       // the conflicts on the fields that this apply took by force; empty after an error
	Duration     time.Duration
	Waited       time.Duration // the part of Duration that was spent waiting for the lane
	Loop         string        // the message about an endless loop, if Loops reports one; otherwise ""
}

// UpdateObservation describes one get-modify-update call.
type UpdateObservation struct {
	FieldManager string
	Kind         schema.GroupVersionKind
	Verb         string // the Updater's method: Do, Status, EnsureFinalizer or RemoveFinalizer
	Result       string // ResultOf(err), which is "Success" without an error
	Attempts     int    // number of attempts, as in update.Result; 0 if there was nothing to write
	StaleWrites  int
	Duration     time.Duration
	Waited       time.Duration // the part of Duration that was spent waiting for the lane
}

// ResultOf returns the name of an error's class for metrics and events, such as "Conflict". It returns "Success" for
// nil, and "Error" for an error that belongs to no class.
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
