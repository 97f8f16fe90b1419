// Package ownerview writes one object's ownership for people and for programs: as YAML with
// owners beside the fields, as a table, as JSON.
//
// It is pure: objects in, text out. Values of Secrets never enter an Object, so that
// nothing here can print them. Names of managers are not authenticated, so whatever
// comes from an object is escaped before it reaches a terminal.
package ownerview

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/fieldowners"
)

// Object is one object with its ownership.
type Object struct {
	schema.GroupVersionKind

	Namespace, Name, UID, ResourceVersion string
	// Unread has an error for each entry that cannot be read.
	Unread []error
	// Absent reports whether there are no managed fields. They may have been removed on the
	// way, so this does not mean that nobody owns anything.
	Absent bool

	// Deep reports whether fields lie deeper than fieldowners.MaxDepth.
	Deep bool

	Ownership fieldowners.Ownership
	Root      fieldowners.Field
}

// New returns the Object of an unstructured object, which it does not change.
func New(content map[string]any) *Object {
	live := unstructured.Unstructured{Object: content}
	o := &Object{
		GroupVersionKind: live.GroupVersionKind(),
		Namespace:        live.GetNamespace(), Name: live.GetName(), UID: string(live.GetUID()), ResourceVersion: live.GetResourceVersion(),
	}
	entries, unread := Entries(content)
	o.Unread, o.Absent = unread, len(entries)+len(unread) == 0
	o.Ownership, _ = fieldowners.ParseReadable(entries) // Entries returns readable ones
	o.Root = o.Ownership.Join(withoutSecrets(o.GroupVersionKind, content))
	for field := range o.Root.All() {
		o.Deep = o.Deep || field.IsLeaf() && field.Path.Len() == fieldowners.MaxDepth && !isScalar(field.Value)
	}
	return o
}

// knowsAll reports whether the owners of every field are known, so that a field without owner
// is nobody's.
func (o *Object) knowsAll() bool { return !o.Absent && len(o.Unread) == 0 }

func (o *Object) ref() Ref { return Ref{o.GroupVersion().String(), o.Kind, o.Namespace, o.Name, o.UID} }

// String returns kind, namespace and name, for sentences and headings.
func (o *Object) String() string { return o.ref().String() }

// Resource returns the object as -o name does: deployment.apps/web.
func (o *Object) Resource() string {
	kind := strings.ToLower(o.Kind)
	if o.Group != "" {
		kind += "." + o.Group
	}
	return Safe(kind + "/" + o.Name)
}

func isScalar(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return true
}

// withoutSecrets returns the content to show: for a Secret with its values hidden, also in the
// annotation of client-side apply.
func withoutSecrets(kind schema.GroupVersionKind, content map[string]any) map[string]any {
	if !fieldowners.IsSecret(kind.Group, kind.Kind) {
		return content
	}
	const hidden = string(fieldowners.Hidden)
	shown := runtime.DeepCopyJSON(content)
	for _, field := range []string{"data", "stringData"} {
		values, isMap := shown[field].(map[string]any)
		if _, has := shown[field]; has && !isMap {
			shown[field] = hidden
		}
		for _, key := range slices.Collect(maps.Keys(values)) {
			values[key] = hidden
		}
	}
	if annotations, found, _ := unstructured.NestedFieldNoCopy(shown, "metadata", "annotations"); found {
		if all, isMap := annotations.(map[string]any); isMap && all[corev1.LastAppliedConfigAnnotation] != nil {
			all[corev1.LastAppliedConfigAnnotation] = hidden
		}
	}
	return shown
}

// Entries returns the managed fields of an unstructured object that can be read, and an error
// for each other entry. Unstructured.GetManagedFields would return nothing if one is malformed.
func Entries(content map[string]any) (entries []metav1.ManagedFieldsEntry, unread []error) {
	raw, _, err := unstructured.NestedFieldNoCopy(content, "metadata", "managedFields")
	list, isList := raw.([]any)
	if err != nil || raw != nil && !isList {
		return nil, []error{errors.New("metadata.managedFields is no list of entries")}
	}
	for i := range list {
		entry, err := readEntry(list[i])
		if err != nil {
			unread = append(unread, &fieldowners.EntryError{Index: i, Manager: managerOf(list[i]), Err: err})
			continue
		}
		entries = append(entries, entry)
	}
	return entries, unread
}

func readEntry(raw any) (entry metav1.ManagedFieldsEntry, err error) {
	text, err := json.Marshal(raw)
	if err != nil { // it was read from JSON or YAML
		return entry, err
	}
	wrongType := (*json.UnmarshalTypeError)(nil)
	switch err = json.Unmarshal(text, &entry); {
	case errors.As(err, &wrongType):
		return entry, errors.New(strings.Trim(wrongType.Field+" is a "+wrongType.Value+", which it cannot be", " "))
	case err != nil:
		return entry, err
	}
	_, err = fieldowners.Parse([]metav1.ManagedFieldsEntry{entry})
	if wrong := (*fieldowners.EntryError)(nil); errors.As(err, &wrong) {
		err = wrong.Err // without its index, which is that in the whole list here
	}
	return entry, err
}

func managerOf(raw any) string {
	fields, _ := raw.(map[string]any)
	name, _ := fields["manager"].(string)
	return name
}
