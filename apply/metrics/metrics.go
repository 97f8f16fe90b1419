// Package metrics exports Prometheus metrics about applies and updates. The type Metrics implements apply.Metrics. Use the
// same Metrics for all Appliers and Updaters of a process.
//
// # Metrics
//
//	name                             type       labels
//	coapply_apply_total              counter    field_manager kind result
//	coapply_apply_requests_total     counter    field_manager kind
//	coapply_apply_attempts           histogram  field_manager kind
//	coapply_apply_duration_seconds   histogram  field_manager kind result
//	coapply_apply_loops_total        counter    field_manager kind
//	coapply_conflicts_total          counter    field_manager kind decision
//	coapply_update_total             counter    field_manager kind verb result
//	coapply_update_attempts          histogram  field_manager kind verb
//	coapply_update_duration_seconds  histogram  field_manager kind verb result
//	coapply_stale_writes_total       counter    field_manager kind verb
//	coapply_lane_wait_seconds        histogram  field_manager kind
//
// An apply that needs no request has 0 attempts. coapply_conflicts_total counts ownership conflicts by the decision of the
// policy. A conflict that the last apply to the object already relinquished or shared is not counted again. A stale write
// is a write that was refused because the object was no longer at the resourceVersion that was read. A loop is an endless
// loop of changes, see apply.Loops. The lane wait is the time that one call waited for the object's lane in all attempts
// together. It is part of the duration.
//
// # Labels
//
// The number of values of each label is limited by the program and by the kinds in the cluster: no label contains the name
// of an object, a namespace or the text of an error.
//
//   - field_manager: the configured field manager, one for each reconciler.
//   - kind: Kind.group, such as Deployment.apps, or only the kind for the core group, such as Pod. The version is left out,
//     so that an upgrade of the API version does not start new series.
//   - result: the action of a successful apply (Created, Configured, Unchanged, Absent), or Success for a successful
//     update. For an error, it is the class of the error (see apply.ResultOf). Errors of updates can also have the classes
//     Exhausted, NotFound and Cancelled.
//   - verb: Do, Status, EnsureFinalizer or RemoveFinalizer.
//   - decision: the policy's decision on the conflict: Reject, Force, Relinquish or Share.
package metrics

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"coapply.dev/apply"
)

// Metrics implements apply.Metrics with Prometheus metrics. It is safe for concurrent use.
type Metrics struct {
	prometheus.Collector

	applies        *prometheus.CounterVec
	applyRequests  *prometheus.CounterVec
	applyAttempts  *prometheus.HistogramVec
	applyDuration  *prometheus.HistogramVec
	conflicts      *prometheus.CounterVec
	loops          *prometheus.CounterVec
	updates        *prometheus.CounterVec
	updateAttempts *prometheus.HistogramVec
	updateDuration *prometheus.HistogramVec
	staleWrites    *prometheus.CounterVec
	laneWaits      *prometheus.HistogramVec
}

var _ apply.Metrics = (*Metrics)(nil)

// New registers the metrics with the registerer. If New was called with the same registerer before, it returns the same
// Metrics again, so that both callers use the same series. If other code has registered metrics with these names, it
// returns an error and registers nothing.
func New(registerer prometheus.Registerer) (*Metrics, error) {
	if registerer == nil {
		return nil, errors.New("metrics: New needs a prometheus.Registerer, but got nil")
	}
	m := newMetrics()
	err := registerer.Register(m)
	if already := (prometheus.AlreadyRegisteredError{}); errors.As(err, &already) {
		if existing, ok := already.ExistingCollector.(*Metrics); ok {
			return existing, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("metrics: registering the coapply metrics: %w", err)
	}
	return m, nil
}

// attemptBuckets are the buckets of histograms of attempts. 0 attempts means that there was nothing to write. The
// predefined back-offs of apply/update permit 4, 5 or 10 attempts.
var attemptBuckets = []float64{0, 1, 2, 3, 4, 5, 8, 16, 32}

// durationBuckets are the buckets of histograms of durations, in seconds. An apply without a request takes
// microseconds, and one request takes milliseconds. With many concurrent writers, a write may take until the API
// server's time limit of 34 s.
var durationBuckets = []float64{0.0001, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}

func newMetrics() *Metrics {
	all := prometheus.NewRegistry()
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return promauto.With(all).NewCounterVec(prometheus.CounterOpts{Namespace: "coapply", Name: name, Help: help},
			append([]string{"field_manager", "kind"}, labels...))
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return promauto.With(all).NewHistogramVec(
			prometheus.HistogramOpts{Namespace: "coapply", Name: name, Help: help, Buckets: buckets},
			append([]string{"field_manager", "kind"}, labels...))
	}
	return &Metrics{
		Collector: all,
		applies: counter("apply_total",
			"Server-Side Applies by their effect on the object, or by the kind of their error.", "result"),
		applyRequests: counter("apply_requests_total",
			"HTTP requests sent by applies, client-go's own retries included."),
		applyAttempts: histogram("apply_attempts",
			"Attempts until an intent was applied or given up; 0 when the apply was proven unnecessary.", attemptBuckets),
		applyDuration: histogram("apply_duration_seconds",
			"Time until an intent was applied or given up.", durationBuckets, "result"),
		conflicts: counter("conflicts_total",
			"Ownership conflicts, one for each field, by the decision of the policy.", "decision"),
		loops: counter("apply_loops_total",
			"Endless loops: how often applies of the field manager changed an object more than 30 times within a minute."),
		updates: counter("update_total",
			"Get-modify-update calls by how they ended.", "verb", "result"),
		updateAttempts: histogram("update_attempts",
			"Attempts of a get-modify-update call; 0 when there was nothing to write.", attemptBuckets, "verb"),
		updateDuration: histogram("update_duration_seconds",
			"Time of a get-modify-update call, waits included.", durationBuckets, "verb", "result"),
		staleWrites: counter("stale_writes_total",
			"Writes refused because the object was no longer at the resourceVersion that was read.", "verb"),
		laneWaits: histogram("lane_wait_seconds",
			"Time that an apply or a get-modify-update call waited for other writes of the process to the same object.", durationBuckets),
	}
}

// ObserveApply implements apply.Metrics.
func (m *Metrics) ObserveApply(o apply.ApplyObservation) {
	manager, kind := o.FieldManager, o.Kind.GroupKind().String()
	m.applies.WithLabelValues(manager, kind, o.Result).Inc()
	m.applyRequests.WithLabelValues(manager, kind).Add(float64(o.Requests))
	m.applyAttempts.WithLabelValues(manager, kind).Observe(float64(o.Attempts))
	m.applyDuration.WithLabelValues(manager, kind, o.Result).Observe(o.Duration.Seconds())
	m.laneWaits.WithLabelValues(manager, kind).Observe(o.Waited.Seconds())
	for decision, n := range o.Conflicts {
		m.conflicts.WithLabelValues(manager, kind, decision.String()).Add(float64(n))
	}
	if o.Loop != "" {
		m.loops.WithLabelValues(manager, kind).Inc()
	}
}

// ObserveUpdate implements apply.Metrics.
func (m *Metrics) ObserveUpdate(o apply.UpdateObservation) {
	manager, kind := o.FieldManager, o.Kind.GroupKind().String()
	m.updates.WithLabelValues(manager, kind, o.Verb, o.Result).Inc()
	m.staleWrites.WithLabelValues(manager, kind, o.Verb).Add(float64(o.StaleWrites))
	m.updateAttempts.WithLabelValues(manager, kind, o.Verb).Observe(float64(o.Attempts))
	m.updateDuration.WithLabelValues(manager, kind, o.Verb, o.Result).Observe(o.Duration.Seconds())
	m.laneWaits.WithLabelValues(manager, kind).Observe(o.Waited.Seconds())
}
