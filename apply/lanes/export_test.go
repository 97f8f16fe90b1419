package lanes

import "time"

// Queued counts who wants the lane of an object, inside included.
func (s *Set) Queued(object Key) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[object]
	if l == nil {
		return 0
	}
	return len(l.inside) + len(l.waiting)
}

// Held counts lanes.
func (s *Set) Held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lanes)
}

// Width is how many joint writes the lane of an object lets in now.
func (s *Set) Width(object Key) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lanes[object]; l != nil {
		return l.width()
	}
	return 1
}

// Gap is the time from one joint write to the next, as the lane of an object has measured it.
func (s *Set) Gap(object Key) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lanes[object].pace.gap
}

// Asking reports whether a measurement is in progress.
func (s *Set) Asking() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trip.asking
}

// Paces counts the removed lanes whose measurements are remembered.
func (s *Set) Paces() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.paces)
}
