package lanes

import (
	"slices"
	"time"
)

// lane is the lane of one object: the visits (calls of Enter and Join) that are inside the lane, and those that wait.
// Set.mu guards all fields.
type lane struct {
	set    *Set
	object Key

	inside, waiting []*visit

	empty chan struct{} // not nil while the round-trip time is measured and no visit is let in; gets a value when nobody is inside
	pace  pace
}

// admit lets waiting visits into the lane, in the order that the contract of the package defines. Inside the lane there
// can be one visit that is alone (after Enter or Alone), or several joint visits (after Join) up to the width. The
// argument is the value that the previous visit passed to HandOn. The next visit gets the value if it is alone.
func (l *lane) admit(handed any) {
	if l.empty != nil {
		if len(l.inside) == 0 && len(l.empty) == 0 {
			l.empty <- struct{}{} // does not wait, because the channel has a buffer and Set.mu is held
		}
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

func (l *lane) letIn(v *visit) {
	l.waiting, l.inside, v.inside = without(l.waiting, v), append(l.inside, v), true
	if v.turn != nil {
		close(v.turn)
	}
}

func without(visits []*visit, v *visit) []*visit {
	return slices.DeleteFunc(visits, func(other *visit) bool { return other == v })
}

// yield moves a joint visit from inside the lane to the front of the queue, behind earlier visits that yielded. There
// the visit waits to be alone. If no other visit is inside the lane, the visit stays inside and is alone, and yield
// returns false.
func (l *lane) yield(v *visit) bool {
	l.set.mu.Lock()
	defer l.set.mu.Unlock()
	v.alone = true
	if len(l.inside) == 1 {
		return false
	}
	first := 0
	for first < len(l.waiting) && l.waiting[first].yielded {
		first++
	}
	v.inside, v.yielded, v.turn = false, true, make(chan struct{})
	l.inside, l.waiting = without(l.inside, v), slices.Insert(l.waiting, first, v)
	return true // no visit can be let in now, because another one is inside
}

// leave removes a visit from the lane, updates the measured pace of the lane, and lets in the next visits.
func (l *lane) leave(v *visit) {
	var handed any
	contended := len(l.waiting) > 0 || len(l.inside) > 1
	switch {
	case !v.inside:
	case v.alone:
		handed = v.handed
		l.pace.running = false
	case contended && l.set.fixed == 0:
		l.pace.completed(time.Now())
	}
	v.received, v.handed, v.inside = nil, nil, false
	l.inside, l.waiting = without(l.inside, v), without(l.waiting, v)
	l.admit(handed)
	l.removeIfEmpty()
}

// width returns the maximum number of visits that may be inside the lane at the same time (see Join).
func (l *lane) width() int {
	if l.set.fixed > 0 {
		return l.set.fixed
	}
	return l.pace.width(time.Now(), l.set.trip.least())
}

// removeIfEmpty removes the lane from the Set if it has no visits. The Set keeps the pace, if there is one.
func (l *lane) removeIfEmpty() {
	if len(l.inside) > 0 || l.empty != nil {
		return
	}
	delete(l.set.lanes, l.object)
	if l.pace.last.IsZero() {
		return
	}
	if len(l.set.paces) >= maxPaces {
		clear(l.set.paces)
	}
	l.pace.running = false
	l.set.paces[l.object] = l.pace
}
