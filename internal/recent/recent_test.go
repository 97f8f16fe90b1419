package recent

import "testing"

// TestRecent: what is used stays, the rest goes, and there is never more than twice the
// limit.
func TestRecent(t *testing.T) {
	r := New[int, int](10)
	for i := range 1000 {
		r.Put(i, i)
		if _, ok := r.Get(0); !ok {
			t.Fatalf("what was used last is gone after %d", i)
		}
		if n := len(r.young) + len(r.old); n > 20 {
			t.Fatalf("%d are kept", n)
		}
	}
	for i, want := range map[int]bool{999: true, 991: true, 900: false} {
		if _, ok := r.Get(i); ok != want {
			t.Errorf("%d is kept: %v", i, ok)
		}
	}
}

// TestRemove: what was removed is gone, however long ago it was used last.
func TestRemove(t *testing.T) {
	r := New[int, int](2)
	for i := range 3 { // 0 and 1 are old by then
		r.Put(i, i)
	}
	r.Remove(0)
	r.Remove(2)
	r.Remove(7)
	for i, want := range []bool{false, true, false} {
		if _, ok := r.Get(i); ok != want {
			t.Errorf("%d is kept: %v", i, ok)
		}
	}
}
