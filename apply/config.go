package apply

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/apply/lanes"
	"coapply.dev/internal/recent"
)

// Config configures an Applier.
type Config struct {
	// FieldManager is the name that owns what is applied: 1 to 128 printable characters, one
	// name per reconciler. Two writers under one name undo each other.
	FieldManager string
	// Policy decides conflicts. The zero value rejects all.
	Policy Policy
	// LiveReader reads past the cache, where a conflict is judged: mgr.GetAPIReader(). It must
	// return objects with their managed fields.
	LiveReader client.Reader
	// Lanes are the lanes of the process: give the same set to all appliers and updaters, so
	// that they take turns at an object. nil makes a set for this Applier alone.
	Lanes *lanes.Set
	// Steady proves which intents need no request. All appliers of a process share one; with
	// nil each intent is sent.
	Steady *SteadyState
	// Loops counts how often each object is changed, and detects endless loops. All appliers of a
	// process share one Loops. If Loops is nil, no loop is reported. A loop is logged, and is
	// reported in ApplyObservation.Loop. Detection needs RecordExchange, or unstructured intents.
	Loops *Loops
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
	return errors.Join(append(errs, c.Policy.validate())...)
}

// Applier applies intents under one field manager. It is safe for concurrent use.
type Applier struct {
	client   client.Client
	config   Config
	metrics  Metrics
	reads    *cacheReads // of the client
	seen     *seenVersions
	made     *made
	reported *reported
}

// New returns an Applier that writes by c. Reads of c may come from a cache: they serve
// MustExist and Belongs.
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
	a := &Applier{
		client: c, config: config, metrics: config.Metrics, reads: newCacheReads(c),
		seen: recent.New[seenKey, wire.Identity](seenObjects), made: recent.New[lanes.Key, madeObject](seenObjects),
		reported: recent.New[reportedKey, []uint64](reportedObjects),
	}
	if a.metrics == nil {
		a.metrics = NoMetrics{}
	}
	return a, nil
}

// FieldManager returns the name that owns what is applied.
func (a *Applier) FieldManager() string { return a.config.FieldManager }

// Config returns what the Applier was made with, for code that writes under its name and in its
// lanes. Lanes is never nil here.
func (a *Applier) Config() Config { return a.config }

// Client returns the client by which the Applier writes.
func (a *Applier) Client() client.Client { return a.client }
