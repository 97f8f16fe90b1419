// Package recent provides a cache of the most recently used values, with a bounded number of values.
package recent

import "sync"

// Cache keeps at least the limit most recently used values, and at most 2*limit values. It is safe for concurrent use.
// A look-up does not allocate memory, unlike a look-up in k8s.io/utils/lru.
type Cache[K comparable, V any] struct {
	Evicted    func(K, V) // called for each value that the limit removes; must not call the Cache; may be nil
	limit      int
	mu         sync.Mutex
	young, old map[K]V // when young is full (limit keys), it replaces old, and a new young begins
}

// New returns an empty Cache that keeps at least limit values.
func New[K comparable, V any](limit int) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, young: map[K]V{}}
}

// Get returns the value of a key, and false if the key is absent. It marks the value as recently used.
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

// Put sets the value of a key and marks the value as recently used.
func (r *Cache[K, V]) Put(key K, value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(key, value)
}

// Remove removes a key and its value.
func (r *Cache[K, V]) Remove(key K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.young, key)
	delete(r.old, key)
}

func (r *Cache[K, V]) add(key K, value V) {
	if _, ok := r.young[key]; !ok && len(r.young) >= r.limit {
		for other, gone := range r.old {
			if _, used := r.young[other]; !used && other != key && r.Evicted != nil {
				r.Evicted(other, gone)
			}
		}
		r.young, r.old = map[K]V{}, r.young
	}
	r.young[key] = value
}
