package oracle

import (
	"strconv"

	"github.com/anishathalye/porcupine"
)

// register is one field of one object, with the operations on it for porcupine.
type register struct {
	object, field string
	// chain has the versions of the object that concern the field.
	chain      []link
	operations []porcupine.Operation
	// acknowledged has, for each operation, the position in chain of the version that it was acknowledged with.
	acknowledged map[int]int
}

// link is a version in the chain of a field.
type link struct {
	value string
	// resets means that the field has this value regardless of earlier writes.
	resets bool
	// known means that an operation acknowledged with the version wrote it; counted means that such an operation
	// incremented the field.
	known, counted bool
}

// state is the state of a register: the position of the next link, and the current value.
type state struct {
	next  int
	value string
	// counted means that the increment that created the object has been applied.
	counted bool
}

// step is the input of one operation on a register, for porcupine.
type step struct {
	// do is one of the functions read, write, increment, writeUnknown and incrementUnknown.
	do func(r *register, s state, at step) (bool, state)
	// at is the link that the operation was acknowledged with or that it reads; -1 if there is none.
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

// read is the operation for a version: the value must be the one in the link.
func read(r *register, s state, at step) (bool, state) {
	link := r.chain[at.at]
	return s.next == at.at && (link.resets || s.value == link.value), state{next: s.next + 1, value: link.value}
}

// write is the operation for an acknowledged write. It made the version, or found its value there.
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

// increment is the operation for an acknowledged increment, which must have made the version.
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

// writeUnknown is the operation for a write without an acknowledgement. The write happens just before a version that
// has its value and no known writer. If there is none, the write happens after all versions, without an effect.
func writeUnknown(r *register, s state, at step) (bool, state) {
	if s.next == len(r.chain) {
		return true, s
	}
	ok := r.open(s, at) && r.chain[s.next].value == at.value && s.value != at.value
	s.value = at.value
	return ok, s
}

// incrementUnknown is the operation for an increment without an acknowledgement; otherwise like writeUnknown.
func incrementUnknown(r *register, s state, at step) (bool, state) {
	if s.next == len(r.chain) {
		return true, s
	}
	ok := r.open(s, at) && !r.chain[s.next].counted && isNext(s.value, r.chain[s.next].value)
	s.value = r.chain[s.next].value
	return ok, s
}

// open reports whether the next version may have been made by an operation that was not acknowledged with this
// version. Such an operation has no acknowledgement, or only its last request is acknowledged, with a later version.
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
