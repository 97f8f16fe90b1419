// Package fieldowners reads the managed fields of a Kubernetes object as
// ownership: which field manager owns which field.
//
// It is pure data: no client, no clock, no logging. It reads what the API server recorded
// (KEP-555, Server-Side Apply); malformed input is an error that says where, never a partial
// result.
//
// Package contract says who may own what, and package command writes the commands that a person
// runs. They import this package.
//
// # Contract
//
//  1. Parse takes metadata.managedFields as they are and returns an Ownership.
//     Malformed input is an error that names the entry, never a panic and never
//     a partial result.
//  2. A Path has one notation, that of Path.String. Map keys that are not plain
//     identifiers are quoted: .metadata.annotations["a.b/c"]. List items are named
//     by key, [name="web"], members of a set by value, [="v"], items of an atomic
//     list by index, [3].
//  3. Output order is stable.
//  4. Absence of managed fields means unknown, not unowned: they may have been
//     stripped on the way.
//  5. Join returns the fields of an object with their owners.
//  6. Diff compares two ownerships, Changes two objects; neither needs a schema: list items are
//     identified as in the managed fields. Changes and Join return the objects' own values,
//     including those of Secrets: see Hide and Path.HoldsSecret before you show them.
//  7. Transfer plans moves of fields between managers, and returns the managed fields that
//     result: no field is left without an owner, all other entries stay as they are, and
//     TransferPlan.Undo reverts the move. Package apply/ownership writes them.
//  8. Path.Set, Path.Cut and the transform of KeepOwn change the object that they are given, in
//     place. Nothing else does.
//
// Valid:
//
//	ownership, err := fieldowners.Parse(deployment.GetManagedFields())
//	owners := ownership.OwnersOf(fieldowners.MustParsePath(".spec.replicas"))
//
// Invalid: the API server's own path strings leave map keys unquoted, so that
// ParsePath reads .metadata.labels.a.b as three names. Compare such a string with
// Path.ServerString of the paths you know instead of parsing it, or have Locate find
// it in an object.
package fieldowners

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// Entry is one manager with the fields it owns.
type Entry struct {
	Manager

	fields *fieldpath.Set
}

// Owns reports whether the entry names exactly this field.
func (e Entry) Owns(path Path) bool { return e.fields != nil && e.fields.Has(path.elements) }

// Fields returns every field of the entry, including parents that it names itself, in the order
// of Path.Compare.
func (e Entry) Fields() []Path {
	if e.fields == nil { // the zero Entry
		return nil
	}
	paths := make([]Path, 0, e.fields.Size())
	e.fields.Iterate(func(p fieldpath.Path) {
		paths = append(paths, Path{elements: p.Copy()}) // Iterate reuses p
	})
	slices.SortFunc(paths, Path.Compare)
	return paths
}

// Leaves returns the fields of the entry that have no field of the entry below them: what a
// person means by "owns".
func (e Entry) Leaves() []Path {
	if e.fields == nil {
		return nil
	}
	return Entry{fields: e.fields.Leaves()}.Fields()
}

// Ownership says who owns which field of one object.
type Ownership struct {
	entries []Entry
}

// Entries returns the managers with their fields, ordered by name, operation, subresource and
// apiVersion.
func (o Ownership) Entries() []Entry { return slices.Clone(o.entries) }

// OwnersOf returns the managers that own exactly this field.
func (o Ownership) OwnersOf(path Path) []Manager {
	var owners []Manager
	for _, entry := range o.entries {
		if entry.Owns(path) {
			owners = append(owners, entry.Manager)
		}
	}
	return owners
}

// EntryError says which entry of metadata.managedFields could not be read, and why.
type EntryError struct {
	Index   int    // in the list
	Manager string // as the entry has it
	Err     error  // with the offset within the entry, if there is one
}

func (e *EntryError) Error() string {
	return fmt.Sprintf("managedFields[%d] (manager %q): %v", e.Index, e.Manager, e.Err)
}

func (e *EntryError) Unwrap() error { return e.Err }

// Parse reads metadata.managedFields. Entries of the same manager, which writes through /scale
// leave, are merged, with the later time. The error is an *EntryError.
func Parse(entries []metav1.ManagedFieldsEntry) (Ownership, error) {
	ownership, unread := ParseReadable(entries)
	if len(unread) > 0 {
		return Ownership{}, unread[0]
	}
	return ownership, nil
}

// ParseReadable is Parse that leaves out the entries that cannot be read, and returns them as
// errors: anybody who may patch an object can forge an entry that the API server accepts, such
// as one nested deeper than 1,000 levels. The fields of these entries are not in the Ownership.
func ParseReadable(entries []metav1.ManagedFieldsEntry) (readable Ownership, unread []*EntryError) {
	all := make([]Entry, 0, len(entries))
	for i, raw := range entries {
		entry, err := parseEntry(raw)
		if err != nil {
			unread = append(unread, &EntryError{Index: i, Manager: raw.Manager, Err: err})
			continue
		}
		all = append(all, entry)
	}
	return newOwnership(all), unread
}

// newOwnership orders entries and merges those of the same manager.
func newOwnership(entries []Entry) Ownership {
	slices.SortStableFunc(entries, func(a, b Entry) int { return a.Compare(b.Manager) })
	var o Ownership
	for _, entry := range entries {
		last := len(o.entries) - 1
		if last < 0 || !o.entries[last].sameEntry(entry.Manager) {
			o.entries = append(o.entries, entry)
			continue
		}
		known := &o.entries[last]
		known.fields, known.Time = known.fields.Union(entry.fields), later(known.Time, entry.Time)
	}
	return o
}

func parseEntry(raw metav1.ManagedFieldsEntry) (Entry, error) {
	entry := Entry{Manager: Manager{
		Name:        raw.Manager,
		Operation:   raw.Operation,
		Subresource: raw.Subresource,
		APIVersion:  raw.APIVersion,
	}}
	if raw.Time != nil {
		entry.Time = raw.Time.Time
	}
	if raw.FieldsType != "FieldsV1" {
		return Entry{}, fmt.Errorf("fieldsType is %q, want FieldsV1", raw.FieldsType)
	}
	if raw.FieldsV1 == nil {
		return Entry{}, errors.New("fieldsV1 is missing")
	}
	var err error
	entry.fields, err = decodeFields(string(raw.FieldsV1.GetRawBytes()))
	return entry, err
}

// EntriesOf returns the managed fields of an unstructured object that can be read, and what is
// wrong with each other entry. It reads one by one: Unstructured.GetManagedFields returns nothing
// where one is malformed.
func EntriesOf(object map[string]any) (entries []metav1.ManagedFieldsEntry, unread []error) {
	metadata, _ := object["metadata"].(map[string]any)
	list, isList := metadata["managedFields"].([]any)
	if !isList && metadata["managedFields"] != nil {
		return nil, []error{errors.New("metadata.managedFields is no list of entries")}
	}
	for i, raw := range list {
		entry, err := readEntry(raw)
		if err != nil {
			fields, _ := raw.(map[string]any)
			name, _ := fields["manager"].(string)
			unread = append(unread, &EntryError{Index: i, Manager: name, Err: err})
			continue
		}
		entries = append(entries, entry)
	}
	return entries, unread
}

func readEntry(raw any) (entry metav1.ManagedFieldsEntry, err error) {
	text, err := json.Marshal(raw)
	if err != nil { // it was read from neither JSON nor YAML
		return entry, err
	}
	err = json.Unmarshal(text, &entry)
	if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		return entry, errors.New(strings.Trim(wrong.Field+" is a "+wrong.Value+", which it cannot be", " "))
	}
	if err == nil {
		_, err = parseEntry(entry)
	}
	return entry, err
}

// Writers returns the managers that wrote between two states of an object: their entry has a
// new time or new fields. Managed fields do not show a manager that only deleted a field, nor
// the second write in a second if it changed no owner.
func Writers(before, after Ownership) []Manager {
	was := byWriter(before)
	var writers []Manager
	for who, entry := range byWriter(after) {
		known, ok := was[who]
		if !ok || !known.Time.Equal(entry.Time) || !entry.fields.Difference(known.fields).Empty() {
			writers = append(writers, entry.Manager)
		}
	}
	slices.SortFunc(writers, Manager.Compare)
	return writers
}
