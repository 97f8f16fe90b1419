// Package oracle finds lost updates in the history of a trial. It checks that every acknowledged value was stored, and
// that it remained until a writer wanted another value. Judge returns exact counts in linear time, because etcd's
// revisions put all versions into one order. The tests of this package compare its results
// with those of a linearisability checker.
package oracle

import (
	"maps"
	"slices"

	"coapply.dev/compare/history"
	"coapply.dev/compare/results"
)

const (
	kindNotFound      = "not-found"
	kindLost          = "lost"
	kindResurrected   = "resurrected"
	kindStolen        = "stolen"
	kindPhantom       = "phantom"
	kindLostIncrement = "lost-increment"
)

// kept is the maximum number of violations that are returned in detail.
const kept = 20

// Judge checks every acknowledged write and every version in a history, and counts these violations:
//
//   - Not found: the version with the acknowledged revision does not contain the written value. A write that changed
//     nothing is acknowledged with an earlier revision. Its value must be current at the start of the write.
//   - Lost: a version changes a value, but the writer of the version did not want the change. A writer may remove fields
//     that were set by itself or by its field manager.
//   - Resurrected: like lost, but the new value is an older value of the field.
//   - Stolen: the writer of the version wanted the change, but another field manager had set the old value.
//   - Phantom: no operation explains a change.
//   - Lost increment: the counter did not grow by a separate step for an acknowledged increment.
//
// The acknowledged revision identifies the writer of a version. A write without an acknowledgement is recognised by its
// values, and explains at most one change. A first version of an object is not compared with earlier values, even after a deletion.
// If values are not unique within the trial, an operation that never landed may explain the change of another operation.
//
// Judge accepts any history and never panics. If versions are missing, Gap is set and the counts are meaningless.
func Judge(h history.History) results.Oracle {
	return judge(newIndex(h)).found
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

type judging struct {
	*index
	found results.Oracle
	// objects has the tracked fields of each object, as of the last judged version.
	objects map[string]map[string]*value
	// writer has, for each version, the operation that wrote it, or -1 if it is not known.
	writer []int
	// resets has the fields whose values are exempt from judgement: at the first version of an object, at its deletion,
	// and after a removal.
	resets map[reset]bool
	// deletions is the number of phantoms that were found at deletions of objects.
	deletions int
}

// reset exempts a field from the linearisability checker of the tests, either in one version or for one operation. The index that does not apply is -1.
type reset struct {
	operation, version int
	field              string
}

// value is the current value of a field, with the history of the field since the creation of the object.
type value struct {
	text string
	// by is the operation that set the value, or -1 if it is not known.
	by int
	// earlier has the values that the field had before.
	earlier map[string]bool
	// undone is the number of steps that were lost because increments wrote a lower number than the counter had.
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

// acknowledged checks one operation that landed: the version with the operation's revision must contain the wanted
// values, and must not have been replaced before the operation began.
func (j *judging) acknowledged(o int) {
	j.found.Acknowledged++
	op, v := j.Operations[o], j.place[o]
	if v < 0 {
		if op.Revision == "" && removesAll(op) && op.Increments == "" {
			j.found.Found++
		}
		return // the version is missing, so Gap is set
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

// superseded reports whether the acknowledged version of a write had already been replaced when the write began.
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
		return -1
	}
	return j.Operations[o].Writer
}

func sorted(wants map[string]string) []string { return slices.Sorted(maps.Keys(wants)) }
