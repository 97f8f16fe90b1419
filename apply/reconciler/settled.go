package reconciler

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
)

// settledParents remembers the parents whose last reconcile left nothing open.
type settledParents struct {
	mu   *sync.RWMutex
	uids map[types.NamespacedName]types.UID
}

func newSettled() settledParents {
	return settledParents{&sync.RWMutex{}, map[types.NamespacedName]types.UID{}}
}

func (s settledParents) forget(parent types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.uids, parent)
}

func (s settledParents) remember(parent types.NamespacedName, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uids[parent] = uid
}

// Settled reports whether the last reconcile of a parent in this process has ended and left
// every child as emitted: no error, no conflict, not even a settled one, no field with another
// value at the server, no kept object. Then a change of a child needs another reconcile only if
// it concerns a field of ours, or what Status reads. Settled is false from the moment a
// reconcile begins, for a parent that is paused or being deleted, and if an intent has a
// Belongs of its own.
func (r *Reconciler[P]) Settled(parent types.NamespacedName, uid types.UID) bool {
	r.settled.mu.RLock()
	defer r.settled.mu.RUnlock()
	known, ok := r.settled.uids[parent]
	return ok && known == uid
}

// asWanted reports whether what was applied leaves the parent settled.
func (a Applied) asWanted() bool {
	return len(a.Errs) == 0 && len(a.Pruned.Kept) == 0 && !a.judged &&
		!slices.ContainsFunc(a.Outcomes, func(o apply.Outcome) bool {
			return o.Action == apply.Absent || len(o.Conflicts) > 0 || len(o.Differ) > 0 || len(o.Unread) > 0
		})
}
