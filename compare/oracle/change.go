package oracle

import "slices"

// change judges a version by the one before it.
func (j *judging) change(v int) {
	fields := j.changed(v)
	by := make([]int, len(fields)) // who meant the change, -1 for nobody
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

// claimant returns the operation acknowledged at the version that meant to change the field: rather one whose value is
// there. One that began when the version was there has found its value.
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

// writerAmong returns who wrote the version: who meant a change, or else who was acknowledged. Of several that were
// acknowledged, all but one changed nothing.
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

// changedField judges one field that changed.
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

// givenUp reports whether a writer left out what it, or its field manager, had set: an Apply gives up what it does not list. Of
// several that may have written the version each has to be such.
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

// steals reports whether a value of one field manager gives way to one that another wants.
func (j *judging) steals(was *value, by int, field string) bool {
	if was.by < 0 || was.text == "" {
		return false
	}
	owner, taker := j.Operations[was.by], j.Operations[by]
	return owner.Manager != "" && taker.Manager != "" && owner.Manager != taker.Manager && owner.Writer != taker.Writer &&
		!increments(taker, field)
}

// field returns the field of the version's object as the versions before left it.
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

// beginning takes an object as it is first seen.
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

// deletion is fine if someone wanted it, or that what stood were gone.
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
