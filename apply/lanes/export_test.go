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

// Held counts lanes, those of a remembered pace included.
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

// Expire is what a timer of the lane does that was stopped too late.
func (s *Set) Expire(object Key) { s.lanes[object].expire() }

// Gap is the time from one joint write to the next, as the lane of an object has measured it.
func (s *Set) Gap(object Key) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lanes[object].pace.gap
}
