// Package recent is a cache of the values used most recently, with bounded memory.
package recent

import "sync"

// Cache keeps the values used most recently, at least limit of them and at most twice as many.
// (k8s.io/utils/lru takes two allocations for a look-up; this takes none.)
type Cache[K comparable, V any] struct {
	limit int

	mu         sync.Mutex
	young, old map[K]V
}

// New returns a Cache that keeps at least limit values.
func New[K comparable, V any](limit int) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, young: map[K]V{}}
}

// Get returns a value, which counts as used.
func (r *Cache[K, V]) Get(key K) (V, bool) {
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

// Put adds or replaces a value.
func (r *Cache[K, V]) Put(key K, value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(key, value)
}

// Remove removes a value.
func (r *Cache[K, V]) Remove(key K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.young, key)
	delete(r.old, key)
}

func (r *Cache[K, V]) add(key K, value V) {
	if _, ok := r.young[key]; !ok && len(r.young) >= r.limit {
		r.young, r.old = map[K]V{}, r.young
	}
	r.young[key] = value
}
