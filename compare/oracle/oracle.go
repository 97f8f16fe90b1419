// Package oracle judges the history of a trial: whether every value that the API server acknowledged was there, and stood
// until someone wanted it otherwise. Judge returns exact numbers in linear time, because etcd's revisions are a total order
// of all versions; CrossCheck asks a linearisability checker the same question.
package oracle

import (
	"maps"
	"slices"

	"coapply.dev/compare/history"
	"coapply.dev/compare/results"
)

// Kinds of violations.
const (
	kindNotFound      = "not-found"
	kindLost          = "lost"
	kindResurrected   = "resurrected"
	kindStolen        = "stolen"
	kindPhantom       = "phantom"
	kindLostIncrement = "lost-increment"
)

// kept is how many violations are kept with their particulars.
const kept = 20

// nobody is the writer that is not known.
const nobody = -1

// Judge finds what became of every acknowledged value.
//
// An acknowledged write must be found in the version that it was acknowledged at; a write that changed nothing is
// answered with the revision of an earlier one, and is found if its values stood there until it began at least. From one
// version of an object to the next, each field that changed without the version's writer wanting it is lost, or
// resurrected if its value had been superseded before; but a writer may leave out, and so give up, what it or its field
// manager had set. The writer is known by the revision; of an operation without an acknowledgement by its values, each of
// which explains one change. A field that the writer wanted and another field manager had set is stolen; a change that no
// operation explains is phantom. An increment has to have a step of its own. What stood when an object was first seen, or
// was created again, is nobody's loss.
//
// Values that are not unique within a trial weaken it: an operation that never landed may then explain what another one
// did.
//
// Judge takes any history and never panics. A history that lacks versions has Gap set, and its counts mean nothing.
func Judge(h history.History) results.Oracle {
	x := newIndex(h)
	return judge(x).found
}

func judge(x *index) *judging {
	j := &judging{
		index: x, objects: map[string]map[string]*value{}, writer: make([]int, len(x.Versions)), resets: map[reset]bool{},
	}
	for v, version := range x.Versions {
		switch {
		case version.Deleted:
			j.deletion(v)
		case x.begins(v):
			j.beginning(v)
		default:
			j.change(v)
		}
	}
	for o, op := range x.Operations {
		if op.Outcome == history.Landed && !op.Skipped {
			j.acknowledged(o)
		}
	}
	j.found.Gap = x.gap
	return j
}

// judging is how far Judge has come.
type judging struct {
	*index
	found results.Oracle
	// objects are the fields of the objects as the last version that was judged has them.
	objects map[string]map[string]*value
	// writer is the operation that wrote a version, -1 where it is not known.
	writer []int
	// resets are the wants found in what an object began with, or in its deletion, and the fields that were given up.
	resets map[reset]bool
	// deletions are those of the phantoms that went with their object.
	deletions int
}

// reset is a field of an operation, or of a version.
type reset struct {
	operation, version int
	field              string
}

// value is a field with its past since the object was created.
type value struct {
	text string
	// by is the operation that set it, -1 where it is not known.
	by int
	// earlier are the values that were superseded.
	earlier map[string]bool
	// undone are the steps of a counter that an increment overwrote.
	undone int64
}

func (v *value) set(text string, by int) {
	if v.earlier == nil {
		v.earlier = map[string]bool{}
	}
	if v.text != "" {
		v.earlier[v.text] = true
	}
	v.text, v.by = text, by
}

// acknowledged looks for what an operation was told had been written.
func (j *judging) acknowledged(o int) {
	j.found.Acknowledged++
	op, v := j.Operations[o], j.place[o]
	if v < 0 {
		if op.Revision == "" && removesAll(op) && op.Increments == "" {
			j.found.Found++
		}
		return // otherwise there is a gap
	}
	field := j.differs(v, op)
	if field == "" && j.superseded(o) {
		field = append(sorted(op.Wants), op.Increments)[0]
		v = j.after[v]
	}
	if field == "" {
		j.found.Found++
		return
	}
	j.violation(kindNotFound, v, field, o, j.writer[v])
}

// superseded reports whether a write was acknowledged at a version that had been superseded before the write began.
func (j *judging) superseded(o int) bool {
	next := j.after[j.place[o]]
	return next >= 0 && j.Operations[o].Begin > j.latest[next]
}

func (j *judging) violation(kind string, v int, field string, of, by int) {
	if len(j.found.Violations) >= kept {
		return
	}
	violation := results.Violation{
		Kind: kind, Object: j.Versions[v].Object, Field: field, Revision: j.Versions[v].Revision,
		Writer: j.writerOf(of), By: j.writerOf(by), After: j.Versions[v].Fields[field],
	}
	if j.before[v] >= 0 {
		violation.Before = j.Versions[j.before[v]].Fields[field]
	}
	j.found.Violations = append(j.found.Violations, violation)
}

func (j *judging) writerOf(o int) int {
	if o < 0 {
		return nobody
	}
	return j.Operations[o].Writer
}

func sorted(wants map[string]string) []string { return slices.Sorted(maps.Keys(wants)) }
