package lanes

// HoldsRoom reports whether memory is held for a map that has been large.
func (l *Set) HoldsRoom() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken != nil
}

// Queued counts who wants the lane of an object, inside included.
func (l *Set) Queued(object Key) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.taken[object]
	for v := first; v != nil; v = v.next {
		if n++; v.next == first {
			break
		}
	}
	return n
}
