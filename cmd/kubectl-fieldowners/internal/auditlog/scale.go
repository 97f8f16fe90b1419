package auditlog

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// moved returns the fields that changed their owners since the last write. If the last write of .spec.replicas went
// through /scale, o.ownership does not have its owner, so moved starts from the inferred owner scaledBy.
func (o *object) moved(diff fieldowners.Difference, after fieldowners.Ownership) []fieldowners.Moved {
	if o.scaledBy == nil {
		return diff.Moved
	}
	moved := slices.DeleteFunc(diff.Moved, func(m fieldowners.Moved) bool { return m.Path.Equal(replicas) })
	owners := after.OwnersOf(replicas)
	confirms := func(m fieldowners.Manager) bool {
		return m.Name == o.scaledBy.Name && m.Subresource == o.scaledBy.Subresource
	}
	if !slices.ContainsFunc(owners, confirms) { // the log does not show whether the write was an apply
		for _, to := range owners {
			moved = append(moved, fieldowners.Moved{Path: replicas, From: *o.scaledBy, To: to})
		}
	}
	return moved
}

// infers reports whether the manager that lost the field is the inferred owner.
func (o *object) infers(m fieldowners.Moved) bool {
	return o.scaledBy != nil && m.Path.Equal(replicas) && m.From.SameWriter(*o.scaledBy)
}

var replicas = fieldowners.MustParsePath(".spec.replicas")

// scaled infers the effect of a write through the subresource scale, whose response has no managed fields.
func (t *tracer) scaled(w write, o *object) {
	before, now := valueAt(replicas, o.content()), valueAt(replicas, response(w.line))
	to := fieldowners.Manager{Name: w.manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "scale"}
	owners := o.ownership.OwnersOf(replicas)
	if o.scaledBy != nil {
		owners = []fieldowners.Manager{*o.scaledBy}
	}
	o.revision = w.revision
	if fieldowners.FormatValue(before) == fieldowners.FormatValue(now) {
		return
	}
	for _, from := range owners {
		if !from.SameWriter(to) {
			t.take(w, o, fieldowners.Moved{Path: replicas, From: from, To: to}, before, now, true)
		}
	}
	o.scaledBy, o.scaled = &to, now
}

// content returns the object after the last write; nil if the object did not exist.
func (o *object) content() any {
	content := response(o.line)
	if o.scaledBy != nil {
		replicas.Set(content, o.scaled)
	}
	return content
}

// response returns the object in the response of an event.
func response(line []byte) any {
	var e struct{ ResponseObject any }
	if len(line) > 0 {
		_ = json.Unmarshal(line, &e) // succeeds, because the line was parsed before
	}
	return e.ResponseObject
}

func valueAt(path fieldowners.Path, object any) any {
	value, _ := path.Value(object)
	return value
}
