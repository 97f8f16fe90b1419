package oracle

import (
	"time"

	"coapply.dev/compare/history"
)

// pending are the operations of one want that may have written it without having been acknowledged for it, in the order
// in which they began. Each is taken once: a value that comes back a second time was written by someone else.
type pending struct {
	// noted are the workload's own writes; open those without an answer, with an error, or given up. The API server says
	// of the latter that nothing was written, but an intent may be several requests.
	noted, open queue
	// later are landed operations: an intent of several requests is acknowledged at the last of them.
	later queue
}

// queue is operations that are taken from the front.
type queue []int

func (q *queue) take(x *index, by time.Duration) int {
	if len(*q) == 0 || x.Operations[(*q)[0]].Begin > by {
		return -1
	}
	first := (*q)[0]
	*q = (*q)[1:]
	return first
}

func (x *index) keepPending(o int) {
	op := x.Operations[o]
	for field, value := range op.Wants {
		x.keep(want{object: op.Object, field: field, value: value}, o)
	}
	if increments(op, op.Increments) {
		x.keep(want{object: op.Object, field: op.Increments, increments: true}, o)
	}
	if len(op.Wants) == 0 && op.Increments == "" { // a deletion
		x.keep(want{object: op.Object}, o)
	}
}

func (x *index) keep(w want, o int) {
	p := x.pending[w]
	if p == nil {
		p = &pending{}
		x.pending[w] = p
	}
	switch {
	case x.Operations[o].Outcome == history.Noted:
		p.noted = append(p.noted, o)
	case x.place[o] < 0:
		p.open = append(p.open, o)
	default:
		p.later = append(p.later, o)
	}
}

// take returns the operation that wrote a value at a version although no operation was acknowledged for it, -1 for none.
// It must have begun before the version was there.
func (x *index) take(v int, w want) int {
	p := x.pending[w]
	if p == nil {
		return -1
	}
	by := x.latest[v]
	if o := p.noted.take(x, by); o >= 0 {
		return o
	}
	if o := p.open.take(x, by); o >= 0 {
		return o
	}
	for len(p.later) > 0 && x.place[p.later[0]] <= v {
		p.later = p.later[1:]
	}
	return p.later.take(x, by)
}

// explain is take for a field that changed: it was set, or made one step.
func (x *index) explain(v int, field string) int {
	version := x.Versions[v]
	before := x.Versions[x.before[v]].Fields[field]
	if o := x.take(v, want{object: version.Object, field: field, value: version.Fields[field]}); o >= 0 {
		return o
	}
	if isNext(before, version.Fields[field]) {
		return x.take(v, want{object: version.Object, field: field, increments: true})
	}
	return -1
}
