package oracle

import "slices"

// change judges a version that is neither the first of its object nor a deletion.
func (j *judging) change(v int) {
	fields := j.changed(v)
	by := make([]int, len(fields)) // the operation that wanted each change; -1 for none
	known := j.isKnown(v)
	for i, field := range fields {
		if by[i] = j.claimant(v, field); by[i] < 0 && !known {
			by[i] = j.explain(v, field)
		}
	}
	j.writer[v] = j.writerAmong(v, by)
	for i, field := range fields {
		j.changedField(v, field, by[i])
	}
	j.stand(v)
}

// claimant returns an operation that was acknowledged with the version and wanted to change the field, or -1 if there
// is none. An operation that wanted the field's new value is preferred. An operation that began after the version
// existed did not write the version and is ignored.
func (j *judging) claimant(v int, field string) int {
	meant := -1
	for _, o := range j.claims[v] {
		op := j.Operations[o]
		if op.Begin > j.latest[v] {
			continue
		}
		text, sets := op.Wants[field]
		if sets && text == j.Versions[v].Fields[field] {
			return o
		}
		if meant < 0 && (sets || increments(op, field)) {
			meant = o
		}
	}
	return meant
}

// writerAmong returns the operation that wrote the version, or -1 if there is no candidate. For each changed field, by has
// the operation that wanted the change, or -1. Operations in by are preferred to others acknowledged with the version.
func (j *judging) writerAmong(v int, by []int) int {
	for _, o := range by {
		if o >= 0 && j.place[o] == v {
			return o
		}
	}
	if i := slices.IndexFunc(by, func(o int) bool { return o >= 0 }); i >= 0 {
		return by[i]
	}
	if len(j.claims[v]) > 0 {
		return j.claims[v][0]
	}
	return -1
}

// changedField judges the change of one field in version v of the object. by is the index of the operation that intended the
// change, or -1 if no operation intended it.
func (j *judging) changedField(v int, field string, by int) {
	was, after := j.field(v, field), j.Versions[v].Fields[field]
	switch {
	case by >= 0:
		if j.steals(was, by, field) {
			j.found.Stolen++
			j.violation(kindStolen, v, field, was.by, by)
		}
		was.set(after, by)
		return
	case j.givenUp(v, was, after):
		j.resets[reset{operation: -1, version: v, field: field}] = true
		was.set(after, j.writer[v])
		return
	case j.writer[v] < 0, was.text == "" && !was.earlier[after]:
		j.found.Phantom++
		j.violation(kindPhantom, v, field, was.by, j.writer[v])
	case after != "" && was.earlier[after]:
		j.found.Resurrected++
		j.violation(kindResurrected, v, field, was.by, j.writer[v])
	default:
		j.found.Lost++
		j.violation(kindLost, v, field, was.by, j.writer[v])
	}
	was.set(after, -1)
}

// givenUp reports whether the writer of the old value, or another writer with the same field manager, removed the
// field. An apply removes the fields that it no longer lists. If several operations may have written the version, the
// condition must hold for all of these operations.
func (j *judging) givenUp(v int, was *value, after string) bool {
	if was.by < 0 || j.writer[v] < 0 || after != "" {
		return false
	}
	writers := []int{j.writer[v]}
	if j.place[j.writer[v]] == v && !j.isKnown(v) {
		writers = j.claims[v]
	}
	owner := j.Operations[was.by]
	return !slices.ContainsFunc(writers, func(o int) bool {
		op := j.Operations[o]
		return op.Begin <= j.latest[v] && owner.Writer != op.Writer && (owner.Manager == "" || owner.Manager != op.Manager)
	})
}

// steals reports whether an operation overwrote a value that another field manager had set.
func (j *judging) steals(was *value, by int, field string) bool {
	if was.by < 0 || was.text == "" {
		return false
	}
	owner, taker := j.Operations[was.by], j.Operations[by]
	return owner.Manager != "" && taker.Manager != "" && owner.Manager != taker.Manager && owner.Writer != taker.Writer &&
		!increments(taker, field)
}

// field returns the current state of a field of the version's object, after all versions that have been judged.
func (j *judging) field(v int, field string) *value {
	fields := j.objects[j.Versions[v].Object]
	if fields == nil {
		fields = map[string]*value{}
		j.objects[j.Versions[v].Object] = fields
	}
	if fields[field] == nil {
		fields[field] = &value{by: -1}
	}
	return fields[field]
}

// beginning records the first version of an object.
func (j *judging) beginning(v int) {
	version := j.Versions[v]
	by := []int{}
	for _, field := range sorted(version.Fields) {
		o := j.claimant(v, field)
		if o < 0 && version.Fields[field] != "" {
			o = j.take(v, want{object: version.Object, field: field, value: version.Fields[field]})
			j.resets[reset{operation: o, version: -1, field: field}] = true
		}
		j.field(v, field).set(version.Fields[field], o)
		by = append(by, o)
	}
	j.writer[v] = j.writerAmong(v, by)
	j.stand(v)
}

// deletion judges a deletion. If no operation deleted the object, the removal of a field is a phantom unless an operation wanted it.
func (j *judging) deletion(v int) {
	object := j.Versions[v].Object
	defer delete(j.objects, object)
	j.writer[v] = j.deletedBy(v)
	if j.before[v] < 0 || j.writer[v] >= 0 {
		return
	}
	for _, field := range sorted(j.Versions[j.before[v]].Fields) {
		was := j.field(v, field)
		if was.text == "" {
			continue
		}
		if o := j.take(v, want{object: object, field: field}); o >= 0 {
			j.writer[v] = o
			j.resets[reset{operation: o, version: -1, field: field}] = true
			continue
		}
		j.found.Phantom++
		j.deletions++
		j.violation(kindPhantom, v, field, was.by, -1)
	}
}

func (j *judging) deletedBy(v int) int {
	if len(j.claims[v]) > 0 {
		return j.claims[v][0]
	}
	return j.take(v, want{object: j.Versions[v].Object})
}
