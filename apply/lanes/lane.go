package lanes

import (
	"slices"
	"time"
)

// lane is the lane of one object: the writers inside and the queue. Set.mu guards all fields.
type lane struct {
	set    *Set
	object Key

	inside, waiting []*visit

	probe  *Probe // the measurement of the round-trip time in progress, or nil; until it ends, no visit is let in
	pace   pace
	expiry *time.Timer // removes the lane when its pace is too old; nil while there are visits
}

// admit lets waiting visits (calls of Enter and Join) into the lane, first come, first served. Inside
// is either one visit that is alone, or joint writes up to the width. No visit passes a visit that
// waits to be alone. A joint write waits while its field manager has another write inside, and later
// visits may pass it. No visit is let in during a measurement of the round-trip time. handed is the
// value that the previous visit passed to HandOn, for the next visit if that visit is alone.
func (l *lane) admit(handed any) {
	if l.probe != nil {
		l.probe.unlessBusy()
		return
	}
	for i := 0; i < len(l.waiting); {
		v := l.waiting[i]
		switch {
		case len(l.inside) == 0:
			if v.alone {
				v.received = handed
			}
			l.letIn(v)
		case v.alone || l.inside[0].alone || len(l.inside) >= l.width():
			return
		case slices.ContainsFunc(l.inside, func(other *visit) bool { return other.by == v.by }):
			i++
		default:
			l.letIn(v)
		}
	}
}

// letIn lets a waiting visit, that is, a call of Enter or Join, into the lane.
func (l *lane) letIn(v *visit) {
	l.waiting, l.inside, v.inside = without(l.waiting, v), append(l.inside, v), true
	if v.turn != nil {
		close(v.turn)
	}
}

func without(visits []*visit, v *visit) []*visit {
	return slices.DeleteFunc(visits, func(other *visit) bool { return other == v })
}

// yield makes a joint visit leave the inside of the lane and wait until it can be inside alone. The
// visit is queued before all waiting visits, except earlier visits that yielded. yield returns false if
// the visit is the only one inside, so that it need not wait.
func (l *lane) yield(v *visit) bool {
	l.set.mu.Lock()
	defer l.set.mu.Unlock()
	v.alone = true
	if len(l.inside) == 1 {
		return false
	}
	l.inside, v.inside = without(l.inside, v), false
	first := 0
	for first < len(l.waiting) && l.waiting[first].yielded {
		first++
	}
	v.yielded, v.turn = true, make(chan struct{})
	l.waiting = slices.Insert(l.waiting, first, v) // another visit is inside, so nobody can be let in now
	return true
}

// leave removes a visit (a call of Enter or Join) from the lane, and lets in the next visits.
func (l *lane) leave(v *visit) {
	var handed any
	if v.inside {
		handed = l.ended(v)
	}
	l.inside, l.waiting, v.inside = without(l.inside, v), without(l.waiting, v), false
	l.admit(handed)
	if len(l.inside) == 0 && l.probe == nil {
		l.rest()
	}
}

// ended updates the pace when a visit that was inside leaves. It returns the value that the visit
// passed to HandOn, for the next visit.
func (l *lane) ended(v *visit) (handed any) {
	contended := len(l.waiting) > 0 || len(l.inside) > 1
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

// width returns the maximum number of joint writes that may be inside the lane at the same time.
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

// overtaken makes the lane narrower, unless the width is 1. At width 1 the pace's gap must not grow
// further: if it doubles with every overtaken write, it soon exceeds the longest response time of the
// API server, and takes long to shrink.
func (l *lane) overtaken() {
	if l.width() > 1 {
		l.pace.slower()
	}
}

// rest is called when the last writer has left the lane. It removes the lane from the Set: at once or,
// if the measurements of the lane can still be used, after a second.
func (l *lane) rest() {
	l.pace.pause()
	if left := l.pace.expires(time.Now); left > 0 {
		l.set.quiet++
		l.expiry = time.AfterFunc(left, l.expire)
		return
	}
	delete(l.set.lanes, l.object)
}

// wake stops the timer that rest has started, because a writer arrives at the lane.
func (l *lane) wake() {
	if l.expiry != nil {
		l.expiry.Stop()
		l.expiry = nil
		l.set.quiet--
	}
}

// expire is called by the timer that rest has started, and removes the lane from the Set.
func (l *lane) expire() {
	l.set.mu.Lock()
	defer l.set.mu.Unlock()
	if l.expiry != nil && l.pace.expires(time.Now) <= 0 { // otherwise a visit arrived meanwhile
		l.wake()
		delete(l.set.lanes, l.object)
	}
}
