// Package view formats the field ownership of one object: as YAML with the owners beside the fields, as
// a table, or as JSON for programs.
//
// The package has no side effects. An Object never contains values of Secrets, so they cannot be
// printed. An object, including the names of its managers, may have any author. So text from an object
// is escaped before it reaches a terminal.
package view

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/fieldowners"
)

// Object is one Kubernetes object with the field ownership that its managed fields record.
type Object struct {
	Ref

	ResourceVersion string
	Unread          []error // an error for each managed-fields entry that cannot be read
	// Absent reports whether the object has no managed fields. If Live is false, the managed fields may have been
	// removed before the object was saved. The owners are then unknown.
	Absent bool
	Live   bool // the object was read from a cluster
	Deep   bool // the object is nested as deep as fieldowners.MaxDepth

	Ownership fieldowners.Ownership
	Root      fieldowners.Field // the tree of all fields with their owners
}

// New returns the Object for the content of an unstructured object. It does not change content.
func New(content map[string]any) *Object {
	o := &Object{Ref: RefOf(content), ResourceVersion: (&unstructured.Unstructured{Object: content}).GetResourceVersion()}
	entries, unread := fieldowners.EntriesOf(content)
	o.Unread, o.Absent = unread, len(entries)+len(unread) == 0
	o.Ownership, _ = fieldowners.ParseReadable(entries) // o.Unread already has the errors about unreadable entries
	o.Root = o.Ownership.Join(withoutSecrets(o.GVK(), content))
	for field := range o.Root.All() {
		o.Deep = o.Deep || field.Path.Len() == fieldowners.MaxDepth
	}
	return o
}

// Absence returns the message for an object without managed fields.
func (o *Object) Absence() string {
	if o.Live {
		return "managedFields absent: the API server has none"
	}
	return "managedFields absent: run kubectl get with --show-managed-fields"
}

// knowsAll reports whether the owners of all fields are known. If not, a field that seems to have no
// owner may have one.
func (o *Object) knowsAll() bool { return !o.Absent && len(o.Unread) == 0 }

// withoutSecrets returns a copy of a Secret in which the values and the last-applied annotation of client-side apply
// are hidden. It returns the content of any other kind unchanged.
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

// Owner converts a manager into an OwnerItem, which has no apiVersion and no time.
func Owner(m fieldowners.Manager) OwnerItem {
	return OwnerItem{Name: m.Name, Operation: m.Operation, Subresource: m.Subresource}
}

// OwnersOf converts managers into OwnerItems. A manager with several apiVersions is returned once.
func OwnersOf(managers []fieldowners.Manager) []OwnerItem {
	owners := []OwnerItem{}
	for _, m := range managers {
		if owner := Owner(m); !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
	}
	return owners
}
