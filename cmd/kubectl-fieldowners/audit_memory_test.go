package main

import (
	"net/http"
	"testing"
)

// TestAuditMemory holds that what an audit keeps does not grow with the objects.
func TestAuditMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("generates 200 MB")
	}
	small, large := peakOf(t, 10_000, 1), peakOf(t, 50_000, 5)
	t.Logf("live heap at its highest: %d KiB with 10,000 objects, %d KiB with 50,000", small>>10, large>>10)
	// What Parse remembers goes up and down by as much. 40,000 objects more that left a
	// hundred bytes each would be found.
	const bound = 4 << 20
	if large > small+bound {
		t.Errorf("live heap grew from %d KiB with 10,000 objects to %d KiB with 50,000", small>>10, large>>10)
	}
}

// peakOf gives the live heap at its highest, asked for at every few pages, while an
// audit of objects that are all different is under way.
func peakOf(t *testing.T, objects, every int) uint64 {
	t.Helper()
	served := writePages(t, objects, 0)
	var peak uint64
	page := 0
	mustAudit(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if page++; page%every == 0 {
			peak = max(peak, liveHeap())
		}
		served.ServeHTTP(w, r)
	}), objects)
	return peak
}
