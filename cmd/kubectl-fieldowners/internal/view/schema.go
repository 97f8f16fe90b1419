package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/fieldowners"
	"coapply.dev/internal/command"
)

// List is the output of -o json and -o yaml. The format of the List and its items is stable: fields may be added, but
// no field is renamed, removed or given another meaning.
type List[T any] struct {
	Items []T `json:"items"`
}

// Ref identifies an object.
type Ref struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
}

// RefOf returns the Ref of an unstructured object.
func RefOf(content map[string]any) Ref {
	o := unstructured.Unstructured{Object: content}
	return Ref{o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName(), string(o.GetUID())}
}

// GVK returns the group, version and kind of the object.
func (r Ref) GVK() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
}

// Resource returns the object as kubectl's -o name prints it, such as deployment.apps/web.
func (r Ref) Resource() string {
	kind := strings.ToLower(r.Kind)
	if group := r.GVK().Group; group != "" {
		kind += "." + group
	}
	return Safe(kind + "/" + r.Name)
}

// Target returns the arguments of a kubectl command that name the object.
func (r Ref) Target() string { return r.subject().Target() }

// String returns kind, namespace and name, escaped so that they cannot control a terminal.
func (r Ref) String() string { return Safe(r.subject().String()) }

func (r Ref) subject() command.Subject {
	return command.Subject{Group: r.GVK().Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// Item is one object in the output of -o json and -o yaml, with its managers and the owners of its fields.
type Item struct {
	Ref

	Managers            []ManagerItem `json:"managers"`
	Fields              []FieldItem   `json:"fields"`
	ManagedFieldsAbsent bool          `json:"managedFieldsAbsent,omitempty"` // the owners are then unknown
	Errors              []string      `json:"errors,omitempty"`              // errors about unreadable entries, whose fields are not in Fields
}

// ManagerItem describes one managed-fields entry of an object: its manager, and the number of fields.
type ManagerItem struct {
	OwnerItem

	APIVersion string     `json:"apiVersion"`
	Time       *time.Time `json:"time"`   // null if no time was recorded
	Fields     int        `json:"fields"` // the number of leaf fields: the manager owns no other field below them
}

// FieldItem is one field with its owners. A field without an owner is included only if it has a value.
type FieldItem struct {
	Path       string      `json:"path"`
	ServerPath string      `json:"serverPath"`
	Owners     []OwnerItem `json:"owners"` // empty if nobody owns the field
	// Existence is true if the owners own only the existence of the map, the list or the list item, and
	// not all fields below it.
	Existence bool `json:"existence,omitempty"`
}

// OwnerItem identifies an owner of a field: a field manager with its operation and subresource.
type OwnerItem struct {
	Name        string                            `json:"name"`
	Operation   metav1.ManagedFieldsOperationType `json:"operation"`
	Subresource string                            `json:"subresource"`
}

// String returns the owner as fieldowners.Manager.String does, but escaped so that the text cannot
// control a terminal.
func (o OwnerItem) String() string {
	return Safe(fieldowners.Manager{Name: o.Name, Operation: o.Operation, Subresource: o.Subresource}.String())
}

// Compare orders owners by name, then by operation and subresource.
func (o OwnerItem) Compare(other OwnerItem) int {
	return cmp.Or(cmp.Compare(o.Name, other.Name), cmp.Compare(o.Operation, other.Operation), cmp.Compare(o.Subresource, other.Subresource))
}

// Item converts the object to the format of -o json and -o yaml. The filter selects the fields of the Item.
func (o *Object) Item(filter Filter) Item {
	item := Item{
		Ref: o.Ref, ManagedFieldsAbsent: o.Absent, Managers: []ManagerItem{}, Fields: []FieldItem{},
	}
	for _, err := range o.Unread {
		item.Errors = append(item.Errors, err.Error())
	}
	for _, entry := range o.Ownership.Entries() {
		m := ManagerItem{OwnerItem: Owner(entry.Manager), APIVersion: entry.APIVersion, Fields: len(entry.Leaves())}
		if !entry.Time.IsZero() {
			m.Time = new(entry.Time.UTC())
		}
		item.Managers = append(item.Managers, m)
	}
	if o.Absent { // the owners are not known
		return item
	}
	for _, field := range held(filter.Fields(o)) {
		item.Fields = append(item.Fields, fieldItem(field))
	}
	return item
}

func fieldItem(field fieldowners.Field) FieldItem {
	owners := OwnersOf(slices.Concat(field.Owners, field.Whole))
	return FieldItem{field.Path.String(), field.Path.ServerString(), owners, isExistence(field)}
}
