package oracle

import (
	"time"

	"coapply.dev/compare/history"
)

// pending contains the operations that wanted a value and may have written a version other than their acknowledged
// version. Each operation explains at most one change. A second change to the value must come from another writer.
type pending struct {
	// noted are writes of the workload itself. open are writes that failed or had no response, even if the API server
	// rejected the last request: an intent may consist of several requests. Both are sorted by start time.
	noted, open queue
	// later are operations that have landed, in the order of their acknowledged versions. Only the last request of an
	// intent is acknowledged, and an earlier request may have written the value.
	later queue
}

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
	if len(op.Wants) == 0 && op.Increments == "" { // the operation is a deletion
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

// take removes and returns the pending operation that wrote the given value in version v, or -1 if there is none. The
// operation must have begun before the version existed. It must not be acknowledged with this version.
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

// explain removes and returns a pending operation that set or incremented the field in the version, or -1 if there is
// none. The operation must not be acknowledged with this version.
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
