// Package fieldowners reads the managed fields of a Kubernetes object as ownership: which field manager owns which
// field.
//
// The package is pure data: no client, no clock, no logging. It reads what the API server recorded (KEP-555,
// Server-Side Apply).
//
// # Contract
//
//  1. Parse returns the Ownership for metadata.managedFields. For malformed input it returns an error that names the
//     entry, and never a partial result. It never panics.
//  2. A Path has one notation, which is the notation of Path.String. Map keys that are not plain identifiers are
//     quoted: .metadata.annotations["a.b/c"]. The path element of a list item is its key ([name="web"]), its value if
//     the list is a set ([="v"]), or its index if the list is atomic ([3]).
//  3. The order of all results is stable.
//  4. If an object has no managed fields, its owners are unknown: a cache or a client may have removed the managed
//     fields.
//  5. Join returns the fields of an object with their owners and their values.
//  6. Diff compares two ownerships, and Changes compares two objects. Neither function needs a schema, because list
//     items are identified as in the managed fields. The results of Changes and Join contain the values of Secrets.
//     Before you show a value of a Secret, pass the value to Hide if Path.HoldsSecret returns true.
//  7. Transfer plans how fields move between managers, and returns the resulting managed fields. No field loses its
//     last owner, and all other entries stay unchanged. TransferPlan.Undo reverts the move. Package apply/ownership
//     writes the result to the API server.
//  8. Path.Set, Path.Cut and the function that KeepOwn returns change the given object in place. All other functions
//     leave their arguments unchanged.
//
// Valid:
//
//	ownership, err := fieldowners.Parse(deployment.GetManagedFields())
//	owners := ownership.OwnersOf(fieldowners.MustParsePath(".spec.replicas"))
//
// Invalid: ParsePath for path strings of the API server. The API server does not quote map keys, so ParsePath reads
// .metadata.labels.a.b as four names. Instead, compare the string with Path.ServerString of known paths, or find the
// field in an object with Locate.
package fieldowners

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// Entry is one managed fields entry: a manager and the fields that it owns.
type Entry struct {
	Manager

	fields *fieldpath.Set
}

// Owns reports whether the entry names exactly this field, and not only a field above or below.
func (e Entry) Owns(path Path) bool { return e.fields != nil && e.fields.Has(path.elements) }

// Fields returns every field that the entry names, including parents, sorted by Path.Compare.
func (e Entry) Fields() []Path {
	if e.fields == nil { // the zero Entry
		return nil
	}
	paths := make([]Path, 0, e.fields.Size())
	e.fields.Iterate(func(p fieldpath.Path) {
		paths = append(paths, Path{elements: p.Copy()}) // copied because Iterate reuses p
	})
	slices.SortFunc(paths, Path.Compare)
	return paths
}

// Leaves returns the leaf fields of the entry. A field is a leaf if the entry names no field below it.
func (e Entry) Leaves() []Path {
	if e.fields == nil {
		return nil
	}
	return Entry{fields: e.fields.Leaves()}.Fields()
}

// Ownership records which managers own which fields of one object.
type Ownership struct {
	entries []Entry
}

// Entries returns the entries, sorted by name, operation, subresource and apiVersion.
func (o Ownership) Entries() []Entry { return slices.Clone(o.entries) }

// OwnersOf returns the managers whose entries name exactly this field.
func (o Ownership) OwnersOf(path Path) []Manager {
	var owners []Manager
	for _, entry := range o.entries {
		if entry.Owns(path) {
			owners = append(owners, entry.Manager)
		}
	}
	return owners
}

// EntryError means that an entry of metadata.managedFields could not be read.
type EntryError struct {
	Index   int    // the index of the entry in metadata.managedFields
	Manager string // the name of the manager in the entry
	Err     error  // the reason, with the offset in fieldsV1 if there is one
}

func (e *EntryError) Error() string {
	return fmt.Sprintf("managedFields[%d] (manager %q): %v", e.Index, e.Manager, e.Err)
}

func (e *EntryError) Unwrap() error { return e.Err }

// Parse returns the ownership that metadata.managedFields records. Writes through /scale can create several entries of
// the same manager. Parse merges these entries, and the merged entry has the latest time. The error is an *EntryError.
func Parse(entries []metav1.ManagedFieldsEntry) (Ownership, error) {
	ownership, unread := ParseReadable(entries)
	if len(unread) > 0 {
		return Ownership{}, unread[0]
	}
	return ownership, nil
}

// ParseReadable is like Parse, but leaves out the entries that cannot be read and returns an error for each of them.
// Anybody who may patch an object can forge an entry that the API server accepts and Parse rejects, such as an entry
// with more than 1,000 nested levels.
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

// newOwnership sorts entries and merges the entries of the same manager.
func newOwnership(entries []Entry) Ownership {
	merged := merge(entries, func(m Manager) Manager { m.Time = time.Time{}; return m })
	return Ownership{slices.SortedFunc(maps.Values(merged), func(a, b Entry) int { return a.Compare(b.Manager) })}
}

// merge merges the entries whose managers have the same key. A merged entry has the manager of the latest entry.
func merge(entries []Entry, key func(Manager) Manager) map[Manager]Entry {
	merged := map[Manager]Entry{}
	for _, entry := range entries {
		who := key(entry.Manager)
		if known, has := merged[who]; has {
			entry.fields = known.fields.Union(entry.fields)
			if !entry.Time.After(known.Time) {
				entry.Manager = known.Manager
			}
		}
		merged[who] = entry
	}
	return merged
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

// EntriesOf returns the well-formed managed fields entries of an unstructured object, and an error for each
// malformed entry. Unstructured.GetManagedFields would return nothing if one entry were malformed.
func EntriesOf(object map[string]any) (entries []metav1.ManagedFieldsEntry, unread []error) {
	metadata, _ := object["metadata"].(map[string]any)
	list, isList := metadata["managedFields"].([]any)
	if !isList && metadata["managedFields"] != nil {
		return nil, []error{errors.New("metadata.managedFields is not a list of entries")}
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
	if err != nil { // the value was not decoded from JSON or YAML
		return entry, err
	}
	err = json.Unmarshal(text, &entry)
	if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		return entry, errors.New(strings.Trim(wrong.Field+" has the wrong type: "+wrong.Value, " "))
	}
	if err == nil {
		_, err = parseEntry(entry)
	}
	return entry, err
}

// Writers returns the managers that wrote to an object between two reads of its ownership: the managers whose
// entries have a new time or new fields. A manager that only deleted a field is not found. A write that changed no
// owner is not found either if the manager's previous write was within the same second.
func Writers(before, after Ownership) []Manager {
	was := merge(before.entries, Manager.writer)
	var writers []Manager
	for who, entry := range merge(after.entries, Manager.writer) {
		known, ok := was[who]
		if !ok || !known.Time.Equal(entry.Time) || !entry.fields.Difference(known.fields).Empty() {
			writers = append(writers, entry.Manager)
		}
	}
	slices.SortFunc(writers, Manager.Compare)
	return writers
}
