package apply

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// owned finds the fields that the API server means by the paths of ownership conflicts. Each
// field of an owner is written as the API server writes it once, and not once for each conflict.
type owned struct {
	intent  *fieldowners.Index
	entries []fieldowners.Entry
	fields  map[owner]map[string]*ownedField // by owner and ServerPath
}

// owner is what a conflict says of a manager.
type owner struct {
	name, subresource string
	operation         metav1.ManagedFieldsOperationType
}

func ownerOfField(m fieldowners.Manager) owner { return owner{m.Name, m.Subresource, m.Operation} }

// ownedField is what one ServerPath may mean.
type ownedField struct {
	manager fieldowners.Manager // of the last entry with such a field
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

// match returns the field that the API server means by serverPath, and completes the manager
// from its entry. It is a field that the manager owns, preferably one that the intent sets; if
// no entry has it, as for the owner before-first-apply, it is one that the intent sets. If two
// fields have this name ({"a.b": 1} and {"a": {"b": 1}}), none is returned.
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
		wanted = slices.Clone(all) // a field by the name that it has in the owner's version
	}
	wanted = slices.CompactFunc(wanted, fieldowners.Path.Equal)
	if len(wanted) != 1 {
		return fieldowners.Path{}, false
	}
	return wanted[0], true
}
