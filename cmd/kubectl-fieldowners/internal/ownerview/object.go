// Package ownerview shows one object's ownership to people and to programs: as YAML
// with owners beside the fields, as a table, as JSON.
//
// It is pure: objects in, text out. Values of Secrets never enter an Object, so that
// nothing here can print them. Names of managers are not authenticated, so whatever
// comes from an object is escaped before it reaches a terminal.
package ownerview

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/fieldowners"
)

// Object is one object with what its managed fields say.
type Object struct {
	Ref

	ResourceVersion string
	// Unread is what is wrong with each entry that cannot be read.
	Unread []error
	// Absent reports that there are no managed fields, which is not to say that nobody
	// owns anything: they may have been left out on the way.
	Absent bool

	// Deep reports that fields lie deeper than they are told apart.
	Deep bool

	Ownership fieldowners.Ownership
	Root      fieldowners.Field
}

// New reads an unstructured object, which stays as it is.
func New(content map[string]any) *Object {
	o := &Object{Ref: RefOf(content), ResourceVersion: (&unstructured.Unstructured{Object: content}).GetResourceVersion()}
	entries, unread := fieldowners.EntriesOf(content)
	o.Unread, o.Absent = unread, len(entries)+len(unread) == 0
	o.Ownership, _ = fieldowners.ParseReadable(entries) // each is
	o.Root = o.Ownership.Join(withoutSecrets(o.GVK(), content))
	for field := range o.Root.All() {
		o.Deep = o.Deep || field.IsLeaf() && field.Path.Len() == fieldowners.MaxDepth && !isScalar(field.Value)
	}
	return o
}

// knowsAll reports whether the owners of every field are known: what somebody may own is
// not nobody's.
func (o *Object) knowsAll() bool { return !o.Absent && len(o.Unread) == 0 }

func isScalar(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return true
}

// withoutSecrets returns the content to show: that of a Secret with its values hidden,
// also where client-side apply has recorded them once more.
func withoutSecrets(kind schema.GroupVersionKind, content map[string]any) map[string]any {
	if !fieldowners.IsSecret(kind.Group, kind.Kind) {
		return content
	}
	const hidden = string(fieldowners.Hidden)
	shown := runtime.DeepCopyJSON(content)
	for _, field := range []string{"data", "stringData"} {
		switch values := shown[field].(type) {
		case nil:
		case map[string]any:
			for key := range values {
				values[key] = hidden
			}
		default:
			shown[field] = hidden
		}
	}
	fieldowners.LastAppliedPath.Set(shown, hidden)
	return shown
}
