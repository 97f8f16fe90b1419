// Package named finds the field that the API server names in an ownership conflict. The API server writes the path of the
// field in a notation that is ambiguous and must not be parsed: {"a.b": 1} and {"a": {"b": 1}} have the same name. So the
// package formats all fields of an owner in this notation, and compares the results.
package named

import (
	"slices"

	"coapply.dev/fieldowners"
)

// Fields finds a field by its name in an ownership conflict. The names of an owner's fields are computed only once.
type Fields struct {
	intent  *fieldowners.Index
	entries []fieldowners.Entry
	owned   map[fieldowners.Manager]map[string]*field // by owner (see Writer), and then by name
}

// field contains those fields of an owner that have the same name in the API server's notation.
type field struct {
	manager fieldowners.Manager // the owner with the apiVersion of the last entry that lists one of the fields
	paths   []fieldowners.Path
}

// New returns the Fields of an object with the given owners. The intent is the one that is applied to the object.
func New(ownership fieldowners.Ownership, intent *fieldowners.Index) *Fields {
	return &Fields{intent, ownership.Entries(), map[fieldowners.Manager]map[string]*field{}}
}

// Writer returns a copy of a field owner without apiVersion and time, to compare it with the owner in a conflict.
func Writer(owner fieldowners.Manager) fieldowners.Manager {
	return fieldowners.Manager{Name: owner.Name, Operation: owner.Operation, Subresource: owner.Subresource}
}

// of returns the fields of an owner, by the API server's names.
func (f *Fields) of(owner fieldowners.Manager) map[string]*field {
	owner = Writer(owner)
	if fields, known := f.owned[owner]; known {
		return fields
	}
	fields := map[string]*field{}
	for _, entry := range f.entries {
		if Writer(entry.Manager) != owner {
			continue
		}
		for _, path := range entry.Fields() {
			name := path.ServerString()
			if fields[name] == nil {
				fields[name] = &field{}
			}
			fields[name].manager = entry.Manager
			fields[name].paths = append(fields[name].paths, path)
		}
	}
	f.owned[owner] = fields
	return fields
}

// Find returns the field that the API server's response calls serverPath. It also completes the given manager from the
// managed fields entry that lists the field. If several fields have the name, Find returns the field that the intent
// sets. If no entry lists the field, Find searches the intent for a field with the name: the owner before-first-apply
// has no entry. If the name is still ambiguous, Find returns false.
func (f *Fields) Find(manager *fieldowners.Manager, serverPath string) (fieldowners.Path, bool) {
	var all, wanted []fieldowners.Path
	if field := f.of(*manager)[serverPath]; field != nil {
		*manager, all = field.manager, field.paths
	}
	for _, path := range all {
		if _, set := f.intent.Nearest(path); set {
			wanted = append(wanted, path)
		}
	}
	if len(wanted) == 0 {
		wanted = f.intent.Locate(serverPath)
	}
	if len(wanted) == 0 {
		wanted = slices.Clone(all) // the owner may use another apiVersion, with another path of the field than the intent's
	}
	wanted = slices.CompactFunc(wanted, fieldowners.Path.Equal)
	if len(wanted) != 1 {
		return fieldowners.Path{}, false
	}
	return wanted[0], true
}
