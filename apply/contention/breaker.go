package contention

import "time"

// breaker decides whether ours may force a contested field. It has no clock.
type breaker struct {
	*Config

	phase    phase
	coolDown time.Duration // of this phase, without the random part
	until    time.Time     // when the phase ends by itself
	asked    bool          // half-open: mayForce has returned true
}

type phase string

const (
	open     phase = "open"
	halfOpen phase = "half-open"
	onTrial  phase = "on trial"
	over     phase = "over"
)

// newBreaker returns an open breaker.
func newBreaker(config *Config, now time.Time) *breaker {
	b := &breaker{Config: config, coolDown: config.CoolDown}
	b.open(now)
	return b
}

func (b *breaker) open(now time.Time) {
	b.phase, b.until, b.asked = open, now.Add(b.jitter(b.coolDown)), false
}

// at returns the phase at a time, and keeps it.
func (b *breaker) at(now time.Time) phase {
	if b.phase == open && !now.Before(b.until) {
		b.phase, b.until = halfOpen, b.until.Add(b.Trial)
	}
	if !now.Before(b.until) {
		b.phase = over // the field stayed ours, or nobody wanted to force it
	}
	return b.phase
}

// mayForce reports whether ours may force the field. It is called for each conflict that ours
// would force, several times for one force: a half-open breaker stays so until ours has forced,
// or the watch shows that the field is ours.
func (b *breaker) mayForce(now time.Time) bool {
	switch b.at(now) {
	case over:
		return true
	case halfOpen:
		b.until, b.asked = now.Add(b.Trial), true
		return true
	}
	return false // open; or on trial, when the field was taken back, and the watch is about to show it
}

// forced records from its answer that a force of ours landed. The watch may show the force much
// later: until then ours would force again each time that the other takes the field back.
func (b *breaker) forced(now time.Time) {
	if b.at(now) == halfOpen && b.asked {
		b.phase, b.until = onTrial, now.Add(b.Trial)
	}
}

// moved records that the field moved to ours, from ours, or both if both managers are ours. It
// reports whether that opened the breaker again.
func (b *breaker) moved(toOurs, fromOurs bool, now time.Time) bool {
	switch phase := b.at(now); {
	case phase == halfOpen && toOurs:
		b.phase, b.until = onTrial, now.Add(b.Trial)
	case phase == onTrial && fromOurs:
		b.coolDown = min(2*b.coolDown, b.MaxCoolDown)
		b.open(now)
		return true
	}
	return false
}

// ends returns when the fight will be over if nothing happens.
func (b *breaker) ends(now time.Time) time.Time {
	if b.at(now) == open {
		return b.until.Add(b.Trial)
	}
	return b.until
}
