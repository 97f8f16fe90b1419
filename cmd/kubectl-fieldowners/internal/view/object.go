// Package view writes one object's ownership for people and for programs: as YAML with
// owners beside the fields, as a table, as JSON.
//
// It is pure: objects in, text out. Values of Secrets never enter an Object, so that
// nothing here can print them. Names of managers are not authenticated, so whatever
// comes from an object is escaped before it reaches a terminal.
package view

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/fieldowners"
)

// Object is one object with its ownership.
type Object struct {
	Ref

	ResourceVersion string
	// Unread is what is wrong with each entry that cannot be read.
	Unread []error
	// Absent reports whether there are no managed fields. Unless the object is Live, they may
	// have been left out on the way, so this does not mean that nobody owns anything.
	Absent bool
	// Live reports whether the object was read from a cluster.
	Live bool

	// Deep reports whether fields lie as deep as fieldowners.MaxDepth.
	Deep bool

	Ownership fieldowners.Ownership
	Root      fieldowners.Field
}

// New returns the Object of an unstructured object, which it does not change.
func New(content map[string]any) *Object {
	o := &Object{Ref: RefOf(content), ResourceVersion: (&unstructured.Unstructured{Object: content}).GetResourceVersion()}
	entries, unread := fieldowners.EntriesOf(content)
	o.Unread, o.Absent = unread, len(entries)+len(unread) == 0
	o.Ownership, _ = fieldowners.ParseReadable(entries) // each is
	o.Root = o.Ownership.Join(withoutSecrets(o.GVK(), content))
	for field := range o.Root.All() {
		o.Deep = o.Deep || field.Path.Len() == fieldowners.MaxDepth
	}
	return o
}

// Absence returns what to say of an object without managed fields.
func (o *Object) Absence() string {
	if o.Live {
		return "managedFields absent: the API server has none"
	}
	return "managedFields absent: ask with --show-managed-fields"
}

// knowsAll reports whether the owners of every field are known, so that a field without owner
// is nobody's.
func (o *Object) knowsAll() bool { return !o.Absent && len(o.Unread) == 0 }

// withoutSecrets returns the content to show: for a Secret with its values hidden, also in the
// annotation of client-side apply.
func withoutSecrets(kind schema.GroupVersionKind, content map[string]any) map[string]any {
	if !fieldowners.IsSecret(kind.Group, kind.Kind) {
		return content
	}
	const hidden = string(fieldowners.Hidden)
	shown := runtime.DeepCopyJSON(content)
	for _, field := range []string{"data", "stringData"} {
		if values, is := shown[field].(map[string]any); is {
			for key := range values {
				values[key] = hidden
			}
		} else if shown[field] != nil {
			shown[field] = hidden
		}
	}
	fieldowners.LastAppliedPath.Set(shown, hidden)
	return shown
}

// Owner returns a manager as an owner of fields.
func Owner(m fieldowners.Manager) OwnerItem {
	return OwnerItem{Name: m.Name, Operation: m.Operation, Subresource: m.Subresource}
}

// OwnersOf returns managers as owners of fields, each once, whatever the apiVersions of its entries.
func OwnersOf(managers []fieldowners.Manager) []OwnerItem {
	owners := []OwnerItem{}
	for _, m := range managers {
		if owner := Owner(m); !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
	}
	return owners
}
