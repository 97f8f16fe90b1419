// Package breaker stops a field manager from forcing a field that another field manager takes back again and again.
//
// If two field managers both force the same field, they change the field back and forth without end. A Breaker counts,
// for each object and field, how often this process forces the field. If the field was forced PerMinute times within a
// minute, and conflicts again, the Breaker opens for this field. While the Breaker is open, a conflict on the field is
// rejected instead of forced, and no field of the intent is applied. After a cool-down, the field may be forced once.
// If another field manager takes the field back within a minute, the Breaker opens for twice as long, up to
// MaxCoolDown. Otherwise the count starts at zero.
//
// A Breaker does not watch objects, and counts from zero when the process starts. It counts only what this process
// forces by Server-Side Apply. Use `kubectl fieldowners watch` to see other fights.
package breaker

import (
	"cmp"
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

// Config configures a Breaker. A field that is zero has its default.
type Config struct {
	// PerMinute is the number of times that a field may be forced within a minute. The default is 3. (For comparison: a
	// HorizontalPodAutoscaler sets the replicas at most four times a minute.)
	PerMinute int
	// CoolDown is the first cool-down of a field, during which the Breaker is open for the field. The default is a
	// minute. Each cool-down is extended at random by up to a fifth.
	CoolDown time.Duration
	// MaxCoolDown is the maximum cool-down of a field. The default is 10 minutes.
	MaxCoolDown time.Duration
	// Now returns the current time. The default is time.Now.
	Now func() time.Time
}

const (
	window    = time.Minute // the time within which the Breaker counts how often a field was forced
	maxFields = 4096        // the maximum number of fields that a Breaker remembers

	maxMessages = 10 // the maximum number of fields in the message of a condition, which may have 32 KiB
)

// stops is the metric, in controller-runtime's registry, that counts how often Breakers open for a field.
var stops = promauto.With(metrics.Registry).NewCounterVec(prometheus.CounterOpts{
	Namespace: "coapply", Name: "breaker_opened_total",
	Help: "How often a field manager stopped forcing a field because another field manager took the field back again and again.",
}, []string{"field_manager", "kind"})

// Breaker is a circuit breaker for forced applies. It is safe for concurrent use.
type Breaker struct {
	config Config

	mu     sync.Mutex
	report func(*OpenError)
	fields *recent.Cache[field, *forces]
}

// field identifies a field of an object, and the field manager that forces it.
type field struct {
	object  types.UID
	manager string
	path    string // the API server's name of the field
}

// forces is the history of one field: when it was forced, and when the Breaker was open for it.
type forces struct {
	times    []time.Time   // when the field was forced, within the last minute
	coolDown time.Duration // how long the Breaker was open for the field the last time; 0 if it never was
	until    time.Time     // the end of the last cool-down
	counted  int           // OpenError.Times when the Breaker opened the last time
	tried    time.Time     // when the field was forced after the last cool-down; zero if it was not
}

// New returns a Breaker, or an error if a setting in config is negative.
func New(config Config) (*Breaker, error) {
	if config.PerMinute < 0 || config.CoolDown < 0 || config.MaxCoolDown < 0 {
		return nil, fmt.Errorf("breaker: PerMinute %d, CoolDown %v and MaxCoolDown %v must not be negative",
			config.PerMinute, config.CoolDown, config.MaxCoolDown)
	}
	config.PerMinute = cmp.Or(config.PerMinute, 3)
	config.CoolDown, config.MaxCoolDown = cmp.Or(config.CoolDown, time.Minute), cmp.Or(config.MaxCoolDown, 10*time.Minute)
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Breaker{config: config, report: func(*OpenError) {}, fields: recent.New[field, *forces](maxFields)}, nil
}

// OnOpen sets a function that is called each time the Breaker opens for a field. The function must not call methods of
// the Breaker.
func (b *Breaker) OnOpen(report func(*OpenError)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.report = report
}

// OpenError means that a field was not forced because the Breaker is open for the field: another field manager has
// taken the field back again and again. The OpenError is in apply.Conflict.Refused.
type OpenError struct {
	FieldManager string         // the field manager that must not force the field
	Conflict     apply.Conflict // the conflict on the field, with the other owner
	Times        int            // how often the field was taken back within a minute; 0 if it was taken back after a cool-down
	Until        time.Time      // when the field may be forced again
}

func (e *OpenError) Error() string {
	return fmt.Sprintf("the other field manager took the field back %s, so the field will not be forced before %s", e.often(), e.until())
}

func (e *OpenError) often() string {
	if e.Times == 0 {
		return "again after a pause"
	}
	return fmt.Sprintf("%d times within a minute", e.Times)
}

func (e *OpenError) until() string { return e.Until.UTC().Format(time.TimeOnly + " MST") }

// Message returns a text for an event or a condition, with the field, both field managers and the possible remedies.
func (e *OpenError) Message() string {
	return fmt.Sprintf("%s and %s set %s of %v to different values. The field was taken back %s, so %s will not force the field before %s. "+
		"Stop one of the two field managers, or give up the field with the policy apply.Relinquish",
		e.FieldManager, e.Conflict.Manager, e.Conflict.ServerPath, e.Conflict.Object, e.often(), e.FieldManager, e.until())
}

// Policy returns a copy of the given policy that rejects a conflict on a field, instead of forcing the field, while the
// Breaker is open for the field.
func (b *Breaker) Policy(fieldManager string, policy apply.Policy) apply.Policy {
	return policy.ForceUnless(func(conflict apply.Conflict) error { return b.refuses(fieldManager, conflict) })
}

// Metrics returns an apply.Metrics that counts the forced fields for the Breaker. Use the result as
// apply.Config.Metrics. The result passes all observations on to the argument next, which may be nil.
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

// forced records that the API server accepted a forced apply of a field.
func (b *Breaker) forced(fieldManager string, conflict apply.Conflict) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key, now := field{conflict.Object.UID, fieldManager, conflict.ServerPath}, b.config.Now()
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

// forget removes the times that are more than a minute old. It also resets coolDown if the field was forced after the
// cool-down and not taken back within a minute, or not forced for 2*coolDown after the cool-down.
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

// refuses returns an OpenError if the field manager must not force the field of a conflict now. refuses does
// not count its calls, because one apply may call refuses several times.
func (b *Breaker) refuses(fieldManager string, conflict apply.Conflict) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	f, known := b.fields.Get(field{conflict.Object.UID, fieldManager, conflict.ServerPath})
	if !known {
		return nil
	}
	now := b.config.Now()
	if now.Before(f.until) {
		return &OpenError{fieldManager, conflict, f.counted, f.until}
	}
	f.forget(now)
	switch {
	case !f.tried.IsZero(): // the field was taken back after it was forced once more
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

// ReasonFight is the reason of the condition Contended, and of the event when a Breaker opens: two field managers take
// a field from each other again and again.
const ReasonFight = "OwnershipFight"

// ConditionContended is the type of the condition that Condition returns.
const ConditionContended = "Contended"

// Condition returns the condition Contended for the status of a parent. The argument errs contains the errors of the
// parent's applies, such as reconciler.Applied.Errs. The condition is True if an error shows that the Breaker is open
// for a field. The message names up to 10 such fields and their other owners.
func Condition(generation int64, errs []error) metav1.Condition {
	var fields []string
	for _, err := range errs {
		conflict, ok := errors.AsType[*apply.ConflictError](err)
		if !ok {
			continue
		}
		for _, c := range conflict.Conflicts {
			if open, ok := errors.AsType[*OpenError](c.Refused); ok {
				fields = append(fields, open.Message())
			}
		}
	}
	condition := metav1.Condition{Type: ConditionContended, ObservedGeneration: generation,
		Status: metav1.ConditionFalse, Reason: "NotContended", Message: "no other field manager repeatedly takes a field back"}
	if len(fields) > 0 {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, ReasonFight, strings.Join(fields[:min(len(fields), maxMessages)], ". ")
	}
	return condition
}
