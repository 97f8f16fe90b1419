package oracle

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"coapply.dev/compare/history"
)

// index is a history with links between operations and versions. A link is a position in the list of operations or versions.
type index struct {
	history.History
	// before and after are the previous and the next version of the same object, for each version; -1 if there is none.
	before, after []int
	// claims has the operations that were acknowledged with each version. place has the version of each operation, or
	// -1 if there is none.
	claims [][]int
	place  []int
	// latest has, for each version, an upper bound of the time of its creation: the earliest end of an operation that
	// was acknowledged with this version, or with a later version of the object.
	latest []time.Duration
	// pending has the operations that may have written a value although they were not acknowledged with its version.
	pending map[want]*pending
	// gap describes the first problem found that shows that the watch missed versions. It is "" if there is none.
	gap string
}

// want is a value that an operation gives to a field, or an increment of the field.
type want struct {
	object, field, value string
	increments           bool
}

const never = time.Duration(math.MaxInt64)

func newIndex(h history.History) *index {
	x := &index{History: h, pending: map[want]*pending{}}
	at := x.tieVersions()
	x.tieOperations(at)
	x.latest = make([]time.Duration, len(h.Versions))
	for v := len(h.Versions) - 1; v >= 0; v-- {
		x.latest[v] = never
		if x.after[v] >= 0 {
			x.latest[v] = x.latest[x.after[v]]
		}
		for _, o := range x.claims[v] {
			x.latest[v] = min(x.latest[v], h.Operations[o].End)
		}
	}
	return x
}

func (x *index) missed(format string, values ...any) {
	if x.gap == "" {
		x.gap = fmt.Sprintf(format, values...)
	}
}

// tieVersions links the consecutive versions of each object, and returns the version's position for each revision.
func (x *index) tieVersions() map[uint64]int {
	n := len(x.Versions)
	x.Versions = slices.Clone(x.Versions)
	x.before, x.after, x.claims = make([]int, n), make([]int, n), make([][]int, n)
	at, last := make(map[uint64]int, n), map[string]int{}
	for v, version := range x.Versions {
		if v > 0 && version.Revision <= x.Versions[v-1].Revision {
			x.missed("the watch gave revision %d of %s after revision %d", version.Revision, version.Object, x.Versions[v-1].Revision)
		}
		x.before[v], x.after[v] = -1, -1
		if version.Deleted {
			x.Versions[v].Fields = nil // the event of a deletion has the last state of the object
		}
		if earlier, ok := last[version.Object]; ok {
			x.before[v], x.after[earlier] = earlier, v
		}
		at[version.Revision], last[version.Object] = v, v
	}
	return at
}

// tieOperations links each operation that was not skipped to its acknowledged version, and adds the operation to x.pending.
func (x *index) tieOperations(at map[uint64]int) {
	x.place = make([]int, len(x.Operations))
	order := make([]int, len(x.Operations))
	for o := range order {
		order[o] = o
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x.Operations[a].Begin, x.Operations[b].Begin) })
	for _, o := range order {
		op := x.Operations[o]
		x.place[o] = -1
		if op.Skipped {
			continue
		}
		if op.Outcome == history.Landed {
			if x.place[o] = x.find(op, at); x.place[o] >= 0 {
				x.claims[x.place[o]] = append(x.claims[x.place[o]], o)
			}
		}
		x.keepPending(o)
	}
	for _, p := range x.pending {
		slices.SortStableFunc(p.later, func(a, b int) int { return cmp.Compare(x.place[a], x.place[b]) })
	}
}

// find returns the version that an operation was acknowledged with, or -1 if there is none.
func (x *index) find(op history.Operation, at map[uint64]int) int {
	if op.Revision == "" && op.Increments == "" && removesAll(op) {
		return -1 // the response to a DELETE has no resourceVersion
	}
	revision, err := strconv.ParseUint(op.Revision, 10, 64)
	v, ok := at[revision]
	switch {
	case err != nil:
		x.missed("intent %d of writer %d landed, but with resourceVersion %q its write cannot be found", op.Sequence, op.Writer, op.Revision)
		return -1
	case !ok || x.Versions[v].Object != op.Object:
		x.missed("the watch has no revision %d of %s, but intent %d of writer %d was acknowledged with this revision",
			revision, op.Object, op.Sequence, op.Writer)
		return -1
	}
	// The write that removes the last finalizer deletes the object. The response to it has the revision before the deletion.
	if next := x.after[v]; next >= 0 && x.Versions[next].Deleted && len(op.Wants) > 0 && removesAll(op) && x.differs(v, op) != "" {
		return next
	}
	return v
}

func removesAll(op history.Operation) bool {
	for _, value := range op.Wants {
		if value != "" {
			return false
		}
	}
	return true
}

// differs returns the first field whose value is not the one that an operation wants, or "" if there is none.
func (x *index) differs(v int, op history.Operation) string {
	for _, field := range sorted(op.Wants) {
		if x.Versions[v].Fields[field] != op.Wants[field] {
			return field
		}
	}
	return ""
}

// begins reports whether the version is the first version of an object, or the first version after a deletion.
func (x *index) begins(v int) bool { return x.before[v] < 0 || x.Versions[x.before[v]].Deleted }

func increments(op history.Operation, field string) bool {
	_, sets := op.Wants[field]
	return op.Increments == field && field != "" && !sets
}

// changed returns the sorted fields that differ from the previous version of the object.
func (x *index) changed(v int) []string {
	before, after := x.Versions[x.before[v]].Fields, x.Versions[v].Fields
	var fields []string
	for field, value := range before {
		if value != after[field] {
			fields = append(fields, field)
		}
	}
	for field, value := range after {
		if _, known := before[field]; !known && value != "" {
			fields = append(fields, field)
		}
	}
	slices.Sort(fields)
	return fields
}

// made returns the changes that operation o wanted and that version v contains. The operation must be one of those that
// were acknowledged with version v. The result is nil if version v existed before the operation began.
func (x *index) made(v, o int) []want {
	op, was, is := x.Operations[o], x.Versions[x.before[v]].Fields, x.Versions[v].Fields
	var made []want
	if op.Begin > x.latest[v] {
		return nil
	}
	for field, value := range op.Wants {
		if is[field] == value && was[field] != value {
			made = append(made, want{object: op.Object, field: field, value: value})
		}
	}
	if increments(op, op.Increments) && isNext(was[op.Increments], is[op.Increments]) {
		made = append(made, want{object: op.Object, field: op.Increments, increments: true})
	}
	return made
}

// isKnown reports whether version v was certainly written by one of the operations that were acknowledged with v.
func (x *index) isKnown(v int) bool {
	return !x.begins(v) && slices.ContainsFunc(x.claims[v], func(o int) bool { return len(x.made(v, o)) > 0 })
}

// number parses the value of a counter.
func number(value string) (int64, bool) {
	n, err := strconv.ParseInt(value, 10, 62) // 62 bits, so that a difference cannot overflow
	return n, err == nil
}

// isNext reports whether the second value is the first value plus one. An empty value counts as 0.
func isNext(before, after string) bool { return grown(before, after) == 1 }

// grown returns the difference of two values of a counter, or 0 if one of them is not a number. An empty first value counts as 0.
func grown(before, after string) int64 {
	n, ok := number(cmp.Or(before, "0"))
	m, also := number(after)
	if !ok || !also {
		return 0
	}
	return m - n
}
