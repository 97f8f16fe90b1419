package contention

import "time"

// breaker decides whether ours may force a contested field. It has no clock.
type breaker struct {
	*Config

	phase    phase
	coolDown time.Duration // of this time, without what chance added
	until    time.Time     // when the phase ends by itself
	asked    bool          // half-open: ours was told that it may
}

type phase string

const (
	open     phase = "open"
	halfOpen phase = "half-open"
	onTrial  phase = "on trial"
	over     phase = "over"
)

// newBreaker is open.
func newBreaker(config *Config, now time.Time) *breaker {
	b := &breaker{Config: config, coolDown: config.CoolDown}
	b.open(now)
	return b
}

func (b *breaker) open(now time.Time) {
	b.phase, b.until, b.asked = open, now.Add(b.jitter(b.coolDown)), false
}

// at brings the phase up to date.
func (b *breaker) at(now time.Time) phase {
	if b.phase == open && !now.Before(b.until) {
		b.phase, b.until = halfOpen, b.until.Add(b.Trial)
	}
	if !now.Before(b.until) {
		b.phase = over // it stayed ours, or nobody wanted to force it
	}
	return b.phase
}

// mayForce is asked for each conflict that ours would force. Several times for one
// force: half-open stays half-open until ours has forced, or the watch shows that the field is ours.
func (b *breaker) mayForce(now time.Time) bool {
	switch b.at(now) {
	case over:
		return true
	case halfOpen:
		b.until, b.asked = now.Add(b.Trial), true
		return true
	}
	return false // open, or on trial: it was taken back, and the watch is about to say so
}

// forced records that a force of ours landed, by its answer. The watch may show it much later: until then ours would
// force again each time that the other takes the field back.
func (b *breaker) forced(now time.Time) {
	if b.at(now) == halfOpen && b.asked {
		b.phase, b.until = onTrial, now.Add(b.Trial)
	}
}

// moved records that the field came to ours or went from ours, or both if both managers are
// ours. It reports whether that opened the breaker again.
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

// ends is when it will be over if nothing happens.
func (b *breaker) ends(now time.Time) time.Time {
	if b.at(now) == open {
		return b.until.Add(b.Trial)
	}
	return b.until
}
