package oracle

import (
	"strconv"

	"github.com/anishathalye/porcupine"
)

// register is one field of one object, with the field's operations for porcupine.
type register struct {
	object, field string
	// chain has the versions of the object that concern the field.
	chain      []link
	operations []porcupine.Operation
	// acknowledged has, for each operation, the position in chain of the version that it was acknowledged with.
	acknowledged map[int]int
}

// link is the value of a field in one version. The links of all versions that concern the field form a chain.
type link struct {
	value string
	// resets means that the field has this value regardless of earlier writes.
	resets bool
	// known means that an operation acknowledged with the version wrote it; counted means that such an operation
	// incremented the field.
	known, counted bool
}

// state is the state of a register in porcupine's model: the position of the next link in the chain, and the current value.
type state struct {
	next  int
	value string
	// counted means that the increment that created the object has been applied.
	counted bool
}

// step is the input of one operation on a register, for porcupine's model.
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

// read treats an observed version as a read of the register: a legal step only if the register has the version's value.
func read(r *register, s state, at step) (bool, state) {
	link := r.chain[at.at]
	return s.next == at.at && (link.resets || s.value == link.value), state{next: s.next + 1, value: link.value}
}

// write models an acknowledged write. The write happens just before the acknowledged version, or just after the
// version if the write changed nothing.
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

// increment models an acknowledged increment. The increment must have written the acknowledged version.
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

// writeUnknown models a write without an acknowledgement. The write happens just before a version that has the
// written value but no known writer. Without such a version, the write happens after all versions and has no effect.
func writeUnknown(r *register, s state, at step) (bool, state) {
	if s.next == len(r.chain) {
		return true, s
	}
	ok := r.open(s, at) && r.chain[s.next].value == at.value && s.value != at.value
	s.value = at.value
	return ok, s
}

// incrementUnknown models an increment without an acknowledgement, in the same way as writeUnknown.
func incrementUnknown(r *register, s state, at step) (bool, state) {
	if s.next == len(r.chain) {
		return true, s
	}
	ok := r.open(s, at) && !r.chain[s.next].counted && isNext(s.value, r.chain[s.next].value)
	s.value = r.chain[s.next].value
	return ok, s
}

// open reports whether an operation may have written the next version although it was not acknowledged with this
// version. Either the operation was never acknowledged, or an earlier request of the operation wrote the version.
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
