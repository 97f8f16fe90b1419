package apply

// Taken counts the lanes that somebody is inside of.
func (l *Lanes) Taken() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.taken)
}

// HoldsRoom tells whether memory is held for a map that has been large.
func (l *Lanes) HoldsRoom() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken != nil
}

// Queued counts who wants the lane of an object, inside included.
func (l *Lanes) Queued(object ObjectRef) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.taken[keyOf(object)]
	for v := first; v != nil; v = v.next {
		if n++; v.next == first {
			break
		}
	}
	return n
}

// LanesOf gives the lanes of an applier.
func LanesOf(a *Applier) *Lanes { return a.config.Lanes }

// LanesOfSets gives the lanes that the members and the parents of sets share.
func LanesOfSets(s *ApplySets) *Lanes {
	if s.members.config.Lanes != s.parents.config.Lanes {
		return nil
	}
	return s.members.config.Lanes
}

// Belongs is for the tests of what Intent.Belongs is given.
var Belongs = belongs
