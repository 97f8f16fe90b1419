// Package breaker stops a field manager from forcing a field that another field manager takes back
// again and again.
//
// Two field managers that both force the same field would change the field without end. A Breaker
// counts, for each object and field, the forced applies of this process. If the field was forced
// PerMinute times within a minute and has a conflict once more, the Breaker opens for this field: the
// conflict is rejected instead of forced, and nothing of the intent is applied. After the cool-down,
// one force is allowed. If another field manager takes the field back within a minute after that force,
// the Breaker opens for twice as long, up to MaxCoolDown. Otherwise the count starts at zero.
//
// A Breaker does not watch objects, and its counts start at zero when the process starts. It counts
// only fields that this process forces by Server-Side Apply. Use `kubectl fieldowners watch` to see
// other fights.
package breaker

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"coapply.dev/apply"
	"coapply.dev/internal/recent"
)

// Config configures a Breaker. Zero values have defaults.
type Config struct {
	// PerMinute is how often a field may be forced within a minute, 3 by default. For comparison: a
	// HorizontalPodAutoscaler sets the replicas at most four times a minute.
	PerMinute int
	// CoolDown is how long the Breaker stays open for a field the first time, a minute by default. A
	// random time of up to a fifth of the CoolDown is added.
	CoolDown time.Duration
	// MaxCoolDown is the maximum of the cool-down, 10 minutes by default. The cool-down of a field doubles
	// each time that the field is taken back after it.
	MaxCoolDown time.Duration
	// Now returns the current time. The default is time.Now.
	Now func() time.Time
}

const (
	window    = time.Minute // the time within which forces are counted
	maxFields = 4096        // the maximum number of fields that a Breaker remembers
)

// stops is a metric in controller-runtime's registry. It counts how often Breakers open for a field.
var stops = promauto.With(metrics.Registry).NewCounterVec(prometheus.CounterOpts{
	Namespace: "coapply", Name: "breaker_opened_total",
	Help: "How often a field manager stopped forcing a field because another field manager took the field back again and again.",
}, []string{"field_manager", "kind"})

// Breaker is a circuit breaker for forced applies: while it is open for a field, the field manager
// must not force that field. It is safe for concurrent use.
type Breaker struct {
	config Config

	mu     sync.Mutex
	report func(*OpenError)
	fields *recent.Cache[field, *forces]
}

// field identifies a contested field of an object together with the field manager that forces it.
type field struct {
	object  types.UID
	manager string
	path    string // the path of the field, in the notation of the API server
}

// forces records when one field was forced, and when the Breaker opened for it.
type forces struct {
	times    []time.Time   // when the field was forced, within the last minute
	coolDown time.Duration // how long the Breaker was open the last time; 0 if it never opened
	until    time.Time     // when the last cool-down ends
	counted  int           // the OpenError.Times of the last opening
	tried    time.Time     // when the field was forced again after the cool-down; zero before
}

// New returns a Breaker, or an error if a setting in config is negative.
func New(config Config) (*Breaker, error) {
	if config.PerMinute < 0 || config.CoolDown < 0 || config.MaxCoolDown < 0 {
		return nil, fmt.Errorf("breaker: PerMinute %d, CoolDown %v and MaxCoolDown %v must not be negative",
			config.PerMinute, config.CoolDown, config.MaxCoolDown)
	}
	if config.PerMinute == 0 {
		config.PerMinute = 3
	}
	if config.CoolDown == 0 {
		config.CoolDown = time.Minute
	}
	if config.MaxCoolDown == 0 {
		config.MaxCoolDown = 10 * time.Minute
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Breaker{config: config, report: func(*OpenError) {}, fields: recent.New[field, *forces](maxFields)}, nil
}

// OnOpen sets a function that is called each time the Breaker opens. The function must not call methods
// of the Breaker.
func (b *Breaker) OnOpen(report func(*OpenError)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.report = report
}

// OpenError is the error of an open Breaker: a field is not forced, because another field manager took
// the field back again and again. It is the value of apply.Conflict.Refused.
type OpenError struct {
	FieldManager string         // the field manager that must not force the field
	Conflict     apply.Conflict // the conflict over the field, with the other owner
	Times        int            // how often the field was taken back within a minute; 0 after a cool-down
	Until        time.Time      // when the field may be forced again
}

func (e *OpenError) Error() string {
	return fmt.Sprintf("taken back %s, not forced before %s", e.often(), e.until())
}

func (e *OpenError) often() string {
	if e.Times == 0 {
		return "again after a pause"
	}
	return fmt.Sprintf("%d times within a minute", e.Times)
}

func (e *OpenError) until() string { return e.Until.UTC().Format(time.TimeOnly + " MST") }

// Message returns a text for an event or a condition: which field managers fight about which field,
// until when the field is not forced, and what to do.
func (e *OpenError) Message() string {
	return fmt.Sprintf("%s and %s set %s of %v to different values. The field was taken back %s, so %s does not force it before %s. "+
		"Stop one of the two, or give the field up by the policy apply.Relinquish",
		e.FieldManager, e.Conflict.Manager, e.Conflict.ServerPath, e.Conflict.Object, e.often(), e.FieldManager, e.until())
}

// Policy returns a copy of a policy that asks the Breaker before the field manager forces a field.
// If the Breaker is open for the field, the conflict is rejected.
func (b *Breaker) Policy(fieldManager string, policy apply.Policy) apply.Policy {
	return policy.ForceUnless(func(conflict apply.Conflict) error { return b.refuses(fieldManager, conflict) })
}

// Metrics returns an apply.Metrics for the Config of an Applier. It counts forced applies for the
// Breaker, and passes all observations on to next, which may be nil.
func (b *Breaker) Metrics(next apply.Metrics) apply.Metrics { return counting{next, b} }

type counting struct {
	apply.Metrics

	breaker *Breaker
}

// ObserveApply implements apply.Metrics.
func (m counting) ObserveApply(o apply.ApplyObservation) {
	for _, conflict := range o.Forced {
		m.breaker.forced(o.FieldManager, conflict)
	}
	if m.Metrics != nil {
		m.Metrics.ObserveApply(o)
	}
}

func keyOf(fieldManager string, conflict apply.Conflict) field {
	return field{conflict.Object.UID, fieldManager, conflict.ServerPath}
}

// forced counts a forced apply that the API server accepted.
func (b *Breaker) forced(fieldManager string, conflict apply.Conflict) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key, now := keyOf(fieldManager, conflict), b.config.Now()
	f, known := b.fields.Get(key)
	if !known {
		f = &forces{}
		b.fields.Put(key, f)
	}
	f.forget(now)
	if f.coolDown > 0 {
		f.tried = now
	}
	f.times = append(f.times, now)
}

// forget drops forces that are older than a minute. It resets the cool-down if nobody took the field
// back for a minute after the last force, or if nobody tried to force the field long after the
// cool-down.
func (f *forces) forget(now time.Time) {
	for len(f.times) > 0 && now.Sub(f.times[0]) >= window {
		f.times = f.times[1:]
	}
	stayed := !f.tried.IsZero() && now.Sub(f.tried) >= window
	unused := f.tried.IsZero() && now.Sub(f.until) >= 2*f.coolDown
	if f.coolDown > 0 && (stayed || unused) {
		f.coolDown, f.tried = 0, time.Time{}
	}
}

// refuses returns an OpenError if the field manager must not force the field of a conflict now. A call
// is not counted as a force: one apply may call refuses several times.
func (b *Breaker) refuses(fieldManager string, conflict apply.Conflict) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	f, known := b.fields.Get(keyOf(fieldManager, conflict))
	if !known {
		return nil
	}
	now := b.config.Now()
	if now.Before(f.until) {
		return &OpenError{fieldManager, conflict, f.counted, f.until}
	}
	f.forget(now)
	switch {
	case !f.tried.IsZero(): // the force after the cool-down was taken back
		f.coolDown, f.counted = min(2*f.coolDown, b.config.MaxCoolDown), 0
	case f.coolDown == 0 && len(f.times) >= b.config.PerMinute:
		f.coolDown, f.counted = b.config.CoolDown, len(f.times)
	default:
		return nil
	}
	f.until, f.tried = now.Add(wait.Jitter(f.coolDown, 0.2)), time.Time{}
	open := &OpenError{fieldManager, conflict, f.counted, f.until}
	stops.WithLabelValues(fieldManager, conflict.Object.GroupKind().String()).Inc()
	b.report(open)
	return open
}

// ReasonFight is the reason of the condition Contended and of the event when a Breaker opens. It means
// that two field managers take a field from each other again and again.
const ReasonFight = "OwnershipFight"

// ConditionContended is the type of the condition that Condition returns.
const ConditionContended = "Contended"

// Condition returns the condition Contended for the status of a parent. The condition is True while
// the Breaker rejects a force, and its message names the fields and the other owners. errs are the
// errors of the parent's applies, such as reconciler.Applied.Errs.
func Condition(generation int64, errs []error) metav1.Condition {
	var fields []string
	for _, err := range errs {
		conflict := (*apply.ConflictError)(nil)
		if !errors.As(err, &conflict) {
			continue
		}
		for _, c := range conflict.Conflicts {
			if open := (*OpenError)(nil); errors.As(c.Refused, &open) {
				fields = append(fields, open.Message())
			}
		}
	}
	condition := metav1.Condition{Type: ConditionContended, ObservedGeneration: generation,
		Status: metav1.ConditionFalse, Reason: "NotContended", Message: "no field is taken back again and again"}
	if len(fields) > 0 {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, ReasonFight, truncated(strings.Join(fields, ". "))
	}
	return condition
}

// truncated shortens a message to 4096 characters. A condition may have at most 32 KiB.
func truncated(message string) string {
	const limit = 4096
	if text := []rune(message); len(text) > limit {
		return string(text[:limit]) + "…"
	}
	return message
}
