package contention

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// maxOthers limits how many names of foreign managers become series, as any writer of an object
// can choose its name.
const maxOthers = 100

// manyOthers stands for those beyond maxOthers.
const manyOthers = "(others)"

type metrics struct {
	found  *prometheus.CounterVec
	active *prometheus.Desc
	others map[string]bool // guarded by the State's lock
}

func newMetrics() *metrics {
	return &metrics{
		found: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "coapply", Name: "fights_total",
			Help: "Fights of two field managers for a field (OwnershipFight), pairs of ours that answer each other without end (ReconcileLoop), and managers of ours under whose name somebody else writes (UnknownWriter; other is empty), when they began.",
		}, []string{"reason", "kind", "manager", "other"}),
		active: prometheus.NewDesc("coapply_fights_active",
			"Fights and loops that go on, or whose field ours has not dared to force again.", []string{"reason"}, nil),
		others: map[string]bool{"": true}, // of an unknown writer
	}
}

// count counts a trouble that began. The label manager is ours if one of the two is.
func (m *metrics) count(t Trouble, ours func(string) bool) {
	manager, other := t.A.Name, t.B.Name
	if !ours(manager) && ours(other) {
		manager, other = other, manager
	}
	m.found.WithLabelValues(t.Reason, t.Object.GroupKind().String(), m.label(manager), m.label(other)).Inc()
}

func (m *metrics) label(name string) string {
	if !m.others[name] {
		if len(m.others) >= maxOthers {
			return manyOthers
		}
		m.others[name] = true
	}
	return name
}

// RegisterIn registers the State's metrics. A registry that has those of another State already
// keeps them.
func (s *State) RegisterIn(registry prometheus.Registerer) error {
	var taken prometheus.AlreadyRegisteredError
	if err := registry.Register(s); err != nil && !errors.As(err, &taken) {
		return err
	}
	return nil
}

// Describe implements prometheus.Collector.
func (s *State) Describe(descs chan<- *prometheus.Desc) {
	s.metrics.found.Describe(descs)
	descs <- s.metrics.active
}

// Collect implements prometheus.Collector. It also ends troubles that are over, for a replica
// that does not lead, where nobody calls Take.
func (s *State) Collect(to chan<- prometheus.Metric) {
	s.metrics.found.Collect(to)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for _, reason := range []string{ReasonFight, ReasonLoop, ReasonStranger} {
		n := 0
		for _, r := range s.rows {
			if r.Reason == reason && s.goesOn(r, now) {
				n++
			}
		}
		to <- prometheus.MustNewConstMetric(s.metrics.active, prometheus.GaugeValue, float64(n), reason)
	}
}
