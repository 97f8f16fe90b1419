package fieldowners

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// Entry is one manager with the fields it owns.
type Entry struct {
	Manager

	fields *fieldpath.Set
}

// EntryOf returns the entry of a manager that owns these fields. It keeps the set: nobody may
// insert into it any more.
func EntryOf(manager Manager, fields *fieldpath.Set) Entry {
	return Entry{Manager: manager, fields: fields}
}

// Set returns the fields of the entry for the algebra of structured-merge-diff. It is no copy,
// and what Parse has read is shared by the whole process: nobody may insert into it, nor
// into what Union and Difference make of it, as that has parts of it.
func (e Entry) Set() *fieldpath.Set {
	if e.fields == nil { // of an Entry that nobody parsed
		return fieldpath.NewSet()
	}
	return e.fields
}

// Owns reports whether the entry names exactly this field.
func (e Entry) Owns(path Path) bool { return e.fields != nil && e.fields.Has(path.elements) }

// Fields lists every field of the entry, parents that it names itself included,
// in the order of Path.Compare.
func (e Entry) Fields() []Path {
	if e.fields == nil { // of an Entry that nobody parsed
		return nil
	}
	paths := make([]Path, 0, e.fields.Size())
	e.fields.Iterate(func(p fieldpath.Path) {
		paths = append(paths, Path{elements: p.Copy()}) // Iterate reuses p
	})
	slices.SortFunc(paths, Path.Compare)
	return paths
}

// Leaves lists the fields of the entry that have no field of the entry below
// them: what a person means by "owns".
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

// OwnershipOf puts entries together. Those of one identity are merged; the later time stands.
func OwnershipOf(entries ...Entry) Ownership {
	all := slices.Clone(entries)
	for i := range all {
		all[i].fields = all[i].Set()
	}
	return newOwnership(all)
}

// Entries lists the managers with their fields, ordered by name, operation,
// subresource and apiVersion.
func (o Ownership) Entries() []Entry { return slices.Clone(o.entries) }

// OwnersOf lists the managers that own exactly this field.
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
	Index   int    // its place in the list
	Manager string // as it stands there
	Err     error  // with the offset within the entry where there is one
}

func (e *EntryError) Error() string {
	return fmt.Sprintf("managedFields[%d] (manager %q): %v", e.Index, e.Manager, e.Err)
}

func (e *EntryError) Unwrap() error { return e.Err }

// Parse reads metadata.managedFields. Entries of one identity, as writes through
// /scale leave them, are merged; the later time stands. The error is an *EntryError.
//
// The same fieldsV1 are parsed once in a process, whatever manager and object they
// come with, unless an entry is longer than 64 KiB, and as long as they are among the
// last few MiB that were asked for.
func Parse(entries []metav1.ManagedFieldsEntry) (Ownership, error) {
	ownership, unread := ParseReadable(entries)
	if len(unread) > 0 {
		return Ownership{}, unread[0]
	}
	return ownership, nil
}

// ParseReadable is Parse for who goes on with what can be read, and says what cannot:
// anybody who may patch an object can forge an entry, such as one nested deeper than
// 1,000 levels, which the API server takes. What such an entry owns is in no Ownership.
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

// newOwnership orders entries and merges those of one identity.
func newOwnership(entries []Entry) Ownership {
	slices.SortStableFunc(entries, func(a, b Entry) int { return a.Compare(b.Manager) })
	var o Ownership
	for _, entry := range entries {
		last := len(o.entries) - 1
		if last < 0 || !o.entries[last].SameEntry(entry.Manager) {
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
	entry.fields, err = parsed.parse(raw.FieldsV1.GetRawBytes())
	return entry, err
}
