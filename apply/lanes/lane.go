package lanes

import "time"

// lane is the lane of one object. Set.mu guards it.
type lane struct {
	set    *Set
	object Key

	inside, waiting line

	probe  *Probe // nobody is let in until it has ended
	pace   pace
	expiry *time.Timer // of the pace, when nobody is inside
}

// admit lets in the waiting visits that may be inside now, first come, first served: one that
// is alone, or joint writes up to the width. No visit passes one that waits to be alone. Others
// pass a joint write whose writer is inside already. Nobody is let in while the round trip is
// measured. handed is for the first one that is let in alone, from the visit before.
func (l *lane) admit(handed any) {
	if l.probe != nil {
		l.probe.unlessBusy()
		return
	}
	for v := l.waiting.first; v != nil; {
		next := v.next
		switch {
		case l.inside.len == 0:
			if v.alone {
				v.received = handed
			}
			l.letIn(v)
		case v.alone || l.inside.first.alone || l.inside.len >= l.width():
			return
		case !l.has(v.by):
			l.letIn(v)
		}
		v = next
	}
}

func (l *lane) letIn(v *visit) {
	l.waiting.remove(v)
	l.inside.push(v)
	if v.turn != nil {
		close(v.turn)
	}
}

// has reports whether a writer is inside.
func (l *lane) has(writer string) bool {
	for v := l.inside.first; v != nil; v = v.next {
		if v.by == writer {
			return true
		}
	}
	return false
}

// yield makes a joint visit wait until it is alone, before all other waiting visits except
// those that yielded before. It reports whether there is anybody to wait for.
func (l *lane) yield(v *visit) bool {
	l.set.mu.Lock()
	defer l.set.mu.Unlock()
	v.alone = true
	if l.inside.len == 1 {
		return false
	}
	l.inside.remove(v)
	before := l.waiting.first
	for before != nil && before.yielded {
		before = before.next
	}
	v.yielded, v.turn = true, make(chan struct{})
	l.waiting.insert(v, before) // first in line, and somebody is inside: nobody is let in now
	return true
}

// leave ends a visit and lets in the next ones.
func (l *lane) leave(v *visit) {
	var handed any
	if v.in == &l.inside {
		handed = l.ended(v)
	}
	v.in.remove(v)
	l.admit(handed)
	if l.inside.len == 0 && l.probe == nil {
		l.rest()
	}
}

// ended takes from a visit that was inside what later ones need: the pace, and what it hands
// on, which it returns.
func (l *lane) ended(v *visit) (handed any) {
	contended := l.waiting.len > 0 || l.inside.len > 1
	switch {
	case v.alone:
		handed = v.handed
		l.pace.pause()
	case contended && l.set.fixed == 0:
		l.pace.completed(time.Now())
	}
	v.received, v.handed = nil, nil
	return handed
}

// width returns how many joint writes may be inside.
func (l *lane) width() int {
	if l.set.fixed > 0 {
		return l.set.fixed
	}
	if l.pace.gap == 0 {
		return 1
	}
	now := time.Now()
	return l.pace.width(now, l.set.trip.least(now))
}

// overtaken makes the lane narrower, unless the width is already 1. At width 1 the gap between writes must not grow
// further. A gap that doubles with every overtaken write soon exceeds the longest response time of the server. It
// also takes long to shrink.
func (l *lane) overtaken() {
	if l.width() > 1 {
		l.pace.slower()
	}
}

// rest removes a lane that nobody is in, at once or when its pace is too old to be of use.
func (l *lane) rest() {
	l.pace.pause()
	if left := l.pace.expires(time.Now); left > 0 {
		l.set.quiet++
		l.expiry = time.AfterFunc(left, l.expire)
		return
	}
	l.set.remove(l)
}

// wake keeps a lane to which somebody comes from being removed.
func (l *lane) wake() {
	if l.expiry != nil {
		l.expiry.Stop()
		l.expiry = nil
		l.set.quiet--
	}
}

func (l *lane) expire() {
	l.set.mu.Lock()
	defer l.set.mu.Unlock()
	if l.expiry != nil && l.pace.expires(time.Now) <= 0 { // otherwise somebody came, and may have left again
		l.wake()
		l.set.remove(l)
	}
}
