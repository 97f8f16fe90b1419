package fights

import (
	"slices"
	"time"
)

// tally counts what went one way and what went the other between two managers in the last
// minute, to the second, and remembers when people heard of it.
type tally struct {
	seconds []inSecond // oldest first
	told    time.Time  // zero, which is long ago: never
}

type inSecond struct {
	second   time.Time
	toA, toB int
}

func (s inSecond) outside(at time.Time) bool { return at.Sub(s.second) >= fightWindow }

func (t *tally) count(at time.Time, toB bool) {
	second := at.Truncate(time.Second)
	t.seconds = slices.DeleteFunc(t.seconds, func(s inSecond) bool { return s.outside(second) })
	if n := len(t.seconds); n == 0 || !t.seconds[n-1].second.Equal(second) {
		t.seconds = append(t.seconds, inSecond{second: second})
	}
	last := &t.seconds[len(t.seconds)-1]
	if toB {
		last.toB++
	} else {
		last.toA++
	}
}

// ways returns the counts of the last minute.
func (t *tally) ways(at time.Time) (toA, toB int) {
	for _, s := range t.seconds {
		if !s.outside(at) {
			toA, toB = toA+s.toA, toB+s.toB
		}
	}
	return toA, toB
}

// tell reports whether people should hear of it: at first, and from a minute on after they did.
func (t *tally) tell(at time.Time) bool {
	if at.Sub(t.told) < fightWindow {
		return false
	}
	t.told = at
	return true
}
