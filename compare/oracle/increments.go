package oracle

import (
	"maps"
	"slices"
)

// stand checks that a counter grew by one for each increment that was acknowledged with the version. If several
// increments read the same number, one write raises the counter, and the other writes change nothing. An increment that
// began after the version was replaced is skipped here: Judge later counts the increment as not found.
func (j *judging) stand(v int) {
	claims := map[string][]int{}
	for _, o := range j.claims[v] {
		if field := j.Operations[o].Increments; increments(j.Operations[o], field) && !j.superseded(o) {
			claims[field] = append(claims[field], o)
		}
	}
	for _, field := range slices.Sorted(maps.Keys(claims)) {
		j.steps(v, field, claims[field])
	}
}

// steps compares the number of acknowledged increments of a counter with the growth of the counter in the version.
// Missing growth counts as lost increments. If an increment lowers the counter, it undoes earlier increments, which
// also count as lost. If the counter later grows by more than expected, the undone increments no longer count as lost.
func (j *judging) steps(v int, field string, claims []int) {
	counter, missing := j.field(v, field), int64(len(claims))
	went := j.went(v, field)
	if !slices.ContainsFunc(claims, func(o int) bool { return j.Operations[o].Begin <= j.latest[v] }) {
		went = 0 // the counter had already grown when these increments began
	}
	missing -= went
	if missing > 0 {
		j.found.LostIncrements += int(missing)
		counter.undone += max(0, -went)
		j.violation(kindLostIncrement, v, field, claims[len(claims)-1], j.writer[v])
		return
	}
	back := min(-missing, counter.undone)
	counter.undone -= back
	j.found.LostIncrements -= int(back)
	if -missing > back {
		j.found.Phantom++
		j.violation(kindPhantom, v, field, -1, j.writer[v])
	}
}

// went returns the growth of a counter since the previous version. For the first version of an object, it returns 1
// if the counter is 1, because an increment created the object, and otherwise 0.
func (j *judging) went(v int, field string) int64 {
	after := j.Versions[v].Fields[field]
	if j.begins(v) {
		if after == "1" {
			return 1
		}
		return 0
	}
	return grown(j.Versions[j.before[v]].Fields[field], after)
}
