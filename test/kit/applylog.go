// Package kit has the code that integration tests share: for control planes, clients, the platform under test, test
// objects, and logs of requests.
package kit

import (
	"sync"

	"coapply.dev/apply"
)

// ApplyLog records the observations of appliers and of get-modify-updates.
type ApplyLog struct {
	Mu      sync.Mutex
	Applies []apply.ApplyObservation
	updates []apply.UpdateObservation
}

// ObserveUpdate records an observation of an update.
func (l *ApplyLog) ObserveUpdate(o apply.UpdateObservation) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.updates = append(l.updates, o)
}

// TakeUpdates returns the updates since the last call.
func (l *ApplyLog) TakeUpdates() []apply.UpdateObservation {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	updates := l.updates
	l.updates = nil
	return updates
}

// ObserveApply records an observation of an apply.
func (l *ApplyLog) ObserveApply(o apply.ApplyObservation) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.Applies = append(l.Applies, o)
}

// Take returns the applies since the last call.
func (l *ApplyLog) Take() []apply.ApplyObservation {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	applies := l.Applies
	l.Applies = nil
	return applies
}
