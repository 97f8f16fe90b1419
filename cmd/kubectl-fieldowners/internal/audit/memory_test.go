package audit

import (
	"net/http"
	"sync"
	"testing"
)

// TestAuditMemory holds that what an audit keeps does not grow with the objects. They
// are small, so that there can be many, and all different.
func TestAuditMemory(t *testing.T) {
	few, many := peakOf(t, 20_000, 4), peakOf(t, 60_000, 12)
	t.Logf("live heap at its highest: %d KiB with 20,000 objects, %d KiB with 60,000", few>>10, many>>10)
	const bound = 5 << 20 // what Parse remembers goes up and down; 130 bytes of each object would be more
	if many > few+bound {
		t.Errorf("live heap grew from %d KiB with 20,000 objects to %d KiB with 60,000", few>>10, many>>10)
	}
}

// peakOf returns the live heap at its highest, asked for at every few pages, while an
// audit is under way.
func peakOf(t *testing.T, objects, every int) uint64 {
	t.Helper()
	served := writePages(t, corpus{objects: objects, small: true})
	var mu sync.Mutex
	var peak uint64
	page := 0
	mustAudit(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if page++; page%every == 0 {
			peak = max(peak, liveHeap())
		}
		mu.Unlock()
		served.ServeHTTP(w, r)
	}), objects)
	mu.Lock()
	defer mu.Unlock()
	return peak
}
