package apply

import "sync"

// recent keeps what was used most recently, at least limit of it and at most twice
// that. (k8s.io/utils/lru takes two allocations for a look-up; this takes none.)
type recent[K comparable, V any] struct {
	limit int

	mu         sync.Mutex
	young, old map[K]V
}

func newRecent[K comparable, V any](limit int) *recent[K, V] {
	return &recent[K, V]{limit: limit, young: map[K]V{}}
}

func (r *recent[K, V]) get(key K) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	value, ok := r.young[key]
	if ok {
		return value, true
	}
	if value, ok = r.old[key]; ok {
		r.add(key, value)
	}
	return value, ok
}

func (r *recent[K, V]) put(key K, value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(key, value)
}

func (r *recent[K, V]) add(key K, value V) {
	if _, ok := r.young[key]; !ok && len(r.young) >= r.limit {
		r.young, r.old = map[K]V{}, r.young
	}
	r.young[key] = value
}
