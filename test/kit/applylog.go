package kit

import (
	"sync"

	"coapply.dev/apply"
)

// ApplyLog keeps the observations of appliers and of get-modify-updates.
type ApplyLog struct {
	Mu      sync.Mutex
	Applies []apply.ApplyObservation
	updates []apply.UpdateObservation
}

func (l *ApplyLog) ObserveUpdate(o apply.UpdateObservation) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.updates = append(l.updates, o)
}

func (l *ApplyLog) TakeUpdates() []apply.UpdateObservation {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	updates := l.updates
	l.updates = nil
	return updates
}

func (l *ApplyLog) ObserveApply(o apply.ApplyObservation) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.Applies = append(l.Applies, o)
}

func (l *ApplyLog) Take() []apply.ApplyObservation {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	applies := l.Applies
	l.Applies = nil
	return applies
}
