package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// labels are the labels of an observation. Each has few values.
type labels struct {
	fieldManager string
	kind         schema.GroupKind
	verb         string // of an update
	result       string
}

// found caches the series of labels: to look them up in each metric takes ten times as long as
// to count.
type found[S any] struct {
	mu sync.RWMutex
	by map[labels]S
}

func (f *found[S]) of(l labels, find func() S) S {
	f.mu.RLock()
	series, ok := f.by[l]
	f.mu.RUnlock()
	if ok {
		return series
	}
	series = find()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.by == nil {
		f.by = map[labels]S{}
	}
	f.by[l] = series
	return series
}

// applySeries are the series of applies with the same labels.
type applySeries struct {
	total, requests          prometheus.Counter
	attempts, duration, wait prometheus.Observer
}

// updateSeries are the series of updates with the same labels.
type updateSeries struct {
	total, stale             prometheus.Counter
	attempts, duration, wait prometheus.Observer
}

func (m *Metrics) appliesOf(l labels) applySeries {
	return m.appliesFound.of(l, func() applySeries {
		kind := l.kind.String()
		return applySeries{
			total:    m.applies.WithLabelValues(l.fieldManager, kind, l.result),
			requests: m.applyRequests.WithLabelValues(l.fieldManager, kind),
			attempts: m.applyAttempts.WithLabelValues(l.fieldManager, kind),
			duration: m.applyDuration.WithLabelValues(l.fieldManager, kind, l.result),
			wait:     m.laneWaits.WithLabelValues(l.fieldManager, kind),
		}
	})
}

func (m *Metrics) updatesOf(l labels) updateSeries {
	return m.updatesFound.of(l, func() updateSeries {
		kind := l.kind.String()
		return updateSeries{
			total:    m.updates.WithLabelValues(l.fieldManager, kind, l.verb, l.result),
			stale:    m.staleWrites.WithLabelValues(l.fieldManager, kind, l.verb),
			attempts: m.updateAttempts.WithLabelValues(l.fieldManager, kind, l.verb),
			duration: m.updateDuration.WithLabelValues(l.fieldManager, kind, l.verb, l.result),
			wait:     m.laneWaits.WithLabelValues(l.fieldManager, kind),
		}
	})
}
