package oracle

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

type builder struct {
	*index
	registers map[[2]string]*register
	// earliest has, for each version, a time before which the version cannot have existed.
	earliest []time.Duration
	// wrote has the values and increments that may explain a version without a known writer.
	wrote map[want]bool
	// horizon is the time at which all operations had ended.
	horizon time.Duration
}

// registers returns the registers of all fields, sorted by object and field. The given index must be new, because
// Judge removes pending operations from its index.
func registers(x *index, resets map[reset]bool) []*register {
	b := &builder{
		index: x, registers: map[[2]string]*register{}, earliest: make([]time.Duration, len(x.Versions)), wrote: map[want]bool{},
	}
	for _, op := range x.Operations {
		b.horizon = max(b.horizon, op.Begin, op.End)
	}
	for v := range x.Versions {
		b.earliest[v] = b.bound(v)
		b.addVersion(v, resets)
	}
	for w, p := range b.pending {
		b.addPending(w, p, resets)
	}
	return slices.SortedFunc(maps.Values(b.registers), func(a, b *register) int {
		return cmp.Or(cmp.Compare(a.object, b.object), cmp.Compare(a.field, b.field))
	})
}

func (b *builder) register(object, field string) *register {
	key := [2]string{object, field}
	if b.registers[key] == nil {
		b.registers[key] = &register{object: object, field: field, acknowledged: map[int]int{}}
	}
	return b.registers[key]
}

// addVersion adds the version to the registers of the concerned fields. In other registers, the version would only
// repeat the last read.
func (b *builder) addVersion(v int, resets map[reset]bool) {
	version := b.Versions[v]
	last, known := min(b.latest[v], b.horizon), b.isKnown(v)
	for _, field := range b.concerned(v) {
		r := b.register(version.Object, field)
		at := len(r.chain)
		l := link{value: version.Fields[field], resets: version.Deleted || b.begins(v) || resets[reset{operation: -1, version: v, field: field}], known: known}
		for _, o := range b.claims[v] {
			op := b.Operations[o]
			input := step{do: write, at: at, value: op.Wants[field]}
			if increments(op, field) {
				input.do, l.counted = increment, true
			} else if _, sets := op.Wants[field]; !sets {
				continue
			}
			r.acknowledged[o] = at
			r.add(input, op.Begin, op.End)
		}
		r.chain = append(r.chain, l)
		r.add(step{do: read, at: at}, min(b.earliest[v], last), last)
		b.note(v, field, l)
	}
}

func (r *register) add(input step, begin, end time.Duration) {
	r.operations = append(r.operations, porcupine.Operation{Input: input, Call: int64(begin), Return: int64(max(begin, end))})
}

// concerned returns the fields that the version changed or introduced, and the fields of its acknowledged operations.
func (b *builder) concerned(v int) []string {
	fields := map[string]bool{}
	for _, o := range b.claims[v] {
		for field := range b.Operations[o].Wants {
			fields[field] = true
		}
		if field := b.Operations[o].Increments; field != "" {
			fields[field] = true
		}
	}
	switch before := b.before[v]; {
	case before < 0:
		for field := range b.Versions[v].Fields {
			fields[field] = true
		}
	default:
		for _, field := range b.changed(v) {
			fields[field] = true
		}
	}
	return slices.Sorted(maps.Keys(fields))
}

// note records the value and the increment that may explain a field's change in a version without a known writer.
func (b *builder) note(v int, field string, l link) {
	if l.resets || l.known {
		return
	}
	object, before := b.Versions[v].Object, b.Versions[b.before[v]].Fields[field]
	for _, w := range []want{{object: object, field: field, value: l.value}, {object: object, field: field, increments: true}} {
		if before == l.value || w.increments && !isNext(before, l.value) {
			continue
		}
		b.wrote[w] = true
	}
}

// addPending adds pending operations to a register if they may have written a version. It leaves out operations that
// Judge has matched to a first version or a deletion, because these versions reset the register.
func (b *builder) addPending(w want, p *pending, resets map[reset]bool) {
	if !b.wrote[w] {
		return
	}
	r := b.register(w.object, w.field)
	add := func(operations []int, at func(o int) int) {
		for _, o := range operations {
			if resets[reset{operation: o, version: -1, field: w.field}] {
				continue
			}
			input := step{do: writeUnknown, at: at(o), value: w.value}
			if w.increments {
				input.do = incrementUnknown
			}
			r.add(input, b.Operations[o].Begin, b.horizon+1)
		}
	}
	open := func(int) int { return -1 }
	add(p.noted, open)
	add(p.open, open)
	add(p.later, func(o int) int { return r.acknowledged[o] })
}

// bound returns a time before which the version cannot have existed. Each change that an acknowledged operation wanted
// was written after the earliest start of the operations that may have written the change. bound returns the latest
// of these starts, or the bound of the previous version if that is later.
func (b *builder) bound(v int) time.Duration {
	before := b.before[v]
	if before < 0 || len(b.claims[v]) == 0 {
		return b.earliestOf(before)
	}
	first := never
	for _, o := range b.claims[v] {
		first = min(first, b.Operations[o].Begin)
	}
	bound := b.earliestOf(before)
	for _, o := range b.claims[v] {
		for _, w := range b.made(v, o) {
			bound = max(bound, min(first, b.firstPending(w)))
		}
	}
	return bound
}

func (b *builder) earliestOf(v int) time.Duration {
	if v < 0 {
		return 0
	}
	return b.earliest[v]
}

func (b *builder) firstPending(w want) time.Duration {
	first := never
	if p := b.pending[w]; p != nil {
		for _, q := range []queue{p.noted, p.open} {
			if len(q) > 0 {
				first = min(first, b.Operations[q[0]].Begin)
			}
		}
	}
	return first
}
