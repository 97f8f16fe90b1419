package apply

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// owned finds the fields that the API server means by the paths in its ownership conflicts. The
// API server writes paths in its own notation. owned computes this notation once for each field
// of an owner, not once for each conflict.
type owned struct {
	intent  *fieldowners.Index
	entries []fieldowners.Entry
	fields  map[owner]map[string]*ownedField // fields by owner, and then by ServerPath
}

// owner identifies an owner by the parts of a manager that an ownership conflict names.
type owner struct {
	name, subresource string
	operation         metav1.ManagedFieldsOperationType
}

func ownerOfField(m fieldowners.Manager) owner { return owner{m.Name, m.Subresource, m.Operation} }

// ownedField holds the fields that one ServerPath may mean.
type ownedField struct {
	manager fieldowners.Manager // the manager of the last entry that has such a field
	paths   []fieldowners.Path
}

func newOwned(ownership fieldowners.Ownership, intent map[string]any) *owned {
	return &owned{fieldowners.NewIndex(intent), ownership.Entries(), map[owner]map[string]*ownedField{}}
}

// of returns the fields of an owner by their ServerPath.
func (o *owned) of(who owner) map[string]*ownedField {
	if fields, known := o.fields[who]; known {
		return fields
	}
	fields := map[string]*ownedField{}
	for _, entry := range o.entries {
		if ownerOfField(entry.Manager) != who {
			continue
		}
		for _, path := range entry.Fields() {
			text := path.ServerString()
			if fields[text] == nil {
				fields[text] = &ownedField{}
			}
			fields[text].manager = entry.Manager
			fields[text].paths = append(fields[text].paths, path)
		}
	}
	o.fields[who] = fields
	return fields
}

// match returns the field that the API server means by serverPath, and completes the manager from
// the managed fields entry. The field is one that the manager owns, preferably a field that the
// intent sets as well. If no entry has the field, as for the owner before-first-apply, match
// returns a field that the intent sets. If serverPath is the name of two fields, as of {"a.b": 1}
// and {"a": {"b": 1}}, match returns none.
func (o *owned) match(manager *fieldowners.Manager, serverPath string) (fieldowners.Path, bool) {
	var all, wanted []fieldowners.Path
	if field := o.of(ownerOfField(*manager))[serverPath]; field != nil {
		*manager, all = field.manager, field.paths
	}
	for _, path := range all {
		if _, set := o.intent.Nearest(path); set {
			wanted = append(wanted, path)
		}
	}
	if len(wanted) == 0 {
		wanted = o.intent.Locate(serverPath)
	}
	if len(wanted) == 0 {
		wanted = slices.Clone(all) // the intent may have the field under another name, if the owner uses another version
	}
	wanted = slices.CompactFunc(wanted, fieldowners.Path.Equal)
	if len(wanted) != 1 {
		return fieldowners.Path{}, false
	}
	return wanted[0], true
}
