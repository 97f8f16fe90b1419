package oracle

import (
	"strconv"

	"github.com/anishathalye/porcupine"
)

// register is one field of one object, with what porcupine is told of it.
type register struct {
	object, field string
	// chain is the versions that matter to the field.
	chain      []link
	operations []porcupine.Operation
	// acknowledged are the links of operations.
	acknowledged map[int]int
}

// link is a version as one field sees it.
type link struct {
	value string
	// resets says that the field has this value whatever was written before.
	resets bool
	// known says that an operation acknowledged at the version made it, counted that one incremented the field there.
	known, counted bool
}

// state of a register: the next link of its chain, and the value now.
type state struct {
	next  int
	value string
	// counted says that the increment which created the object was seen.
	counted bool
}

// step is the input of an operation on a register.
type step struct {
	// do is one of the five below.
	do func(r *register, s state, at step) (bool, state)
	// at is the link where the operation was acknowledged, or the link that it reads; -1 for none.
	at    int
	value string
}

func (r *register) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return state{} },
		Step: func(before, input, _ any) (bool, any) {
			s := input.(step)
			return s.do(r, before.(state), s)
		},
	}
}

// read is a version.
func read(r *register, s state, at step) (bool, state) {
	link := r.chain[at.at]
	return s.next == at.at && (link.resets || s.value == link.value), state{next: s.next + 1, value: link.value}
}

// write is acknowledged at a version: it made it, or found its value there.
func write(r *register, s state, at step) (bool, state) {
	switch {
	case s.next == at.at && !r.chain[at.at].resets:
		s.value = at.value
		return true, s
	case s.next == at.at+1:
		return s.value == at.value, s
	}
	return false, s
}

// increment is acknowledged at a version that it must have made.
func increment(r *register, s state, at step) (bool, state) {
	if resets := r.chain[at.at].resets; !resets && s.next == at.at {
		s.value = successor(s.value)
		return s.value != "", s
	} else if resets && s.next == at.at+1 && r.chain[at.at].value == "1" && !s.counted {
		s.counted = true
		return true, s
	}
	return false, s
}

// writeUnknown happens where the next version needs it, or never: that is after everything else.
func writeUnknown(r *register, s state, at step) (bool, state) {
	if s.next == len(r.chain) {
		return true, s
	}
	ok := r.open(s, at) && r.chain[s.next].value == at.value && s.value != at.value
	s.value = at.value
	return ok, s
}

// incrementUnknown is writeUnknown of a counter.
func incrementUnknown(r *register, s state, at step) (bool, state) {
	if s.next == len(r.chain) {
		return true, s
	}
	ok := r.open(s, at) && !r.chain[s.next].counted && isNext(s.value, r.chain[s.next].value)
	s.value = r.chain[s.next].value
	return ok, s
}

// open reports whether an operation that was not acknowledged at the next version may have made it: without an answer, or
// acknowledged at a later one, for the last of its requests.
func (r *register) open(s state, at step) bool {
	next := r.chain[s.next]
	return !next.resets && !next.known && (at.at < 0 || s.next < at.at)
}

func successor(value string) string {
	if value == "" {
		return "1"
	}
	if n, ok := number(value); ok {
		return strconv.FormatInt(n+1, 10)
	}
	return ""
}
