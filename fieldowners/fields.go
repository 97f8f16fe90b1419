package fieldowners

import (
	"iter"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"

	"coapply.dev/fieldowners/internal/notation"
)

// Field is one field of an object with its owners, and the fields below it.
type Field struct {
	Path   Path
	Value  any       // the object's own, not a copy, also of a Secret; nil if it does not exist
	Exists bool      // false for a field that is owned, but absent in the object under this name
	Owners []Manager // managers whose entries name exactly this field
	// Whole are the owners of a field above that is owned as a whole, such as an atomic list,
	// or, for a key field that no entry names, the owners of its list item.
	Whole []Manager
	// Server reports whether the API server maintains the field itself and records no owner:
	// apiVersion, kind, the name, the uid and the like.
	Server bool
	Fields []Field // of a map by name, of a list in its order, then absent ones
}

// Join returns the fields of an unstructured object with their owners, as a tree;
// metadata.managedFields is left out. The values of a Secret are included: hide them before you
// show them. A field 1000 levels down is a leaf, with whatever is below it.
//
// List items are named as in the managed fields, or otherwise by index. A field that no entry
// names belongs to the owners of a field above it that is owned as a whole: an entry names that
// field, and no entry in the same apiVersion names a part of it.
func (o Ownership) Join(object map[string]any) Field {
	j := joining{naming: namingOf([]Ownership{o})}
	return j.join(place{value: object, owned: ownedTree(o)})
}

// All returns the field and those below it, parents first.
func (f Field) All() iter.Seq[Field] {
	return func(yield func(Field) bool) { f.each(yield) }
}

func (f Field) each(yield func(Field) bool) bool {
	return yield(f) && !slices.ContainsFunc(f.Fields, func(below Field) bool { return !below.each(yield) })
}

// IsLeaf reports whether the field has no fields below it.
func (f Field) IsLeaf() bool { return len(f.Fields) == 0 }

// IsShared reports whether several managers own the field. One manager's entries in
// several apiVersions count once.
func (f Field) IsShared() bool {
	all := slices.Concat(f.Owners, f.Whole)
	return slices.ContainsFunc(all, func(m Manager) bool { return !m.SameWriter(all[0]) })
}

// IsUnowned reports whether the object has a value here that nobody owns, such as a
// default of the server's.
func (f Field) IsUnowned() bool {
	return f.Exists && f.IsLeaf() && !f.Server && len(f.Owners) == 0 && len(f.Whole) == 0
}

// ownedField is what all managers together own, as a tree.
type ownedField struct {
	name     fieldpath.PathElement
	owners   []Manager
	below    []*ownedField
	byName   map[string]*ownedField
	versions []string // in which entries name a field below
}

func ownedTree(o Ownership) *ownedField {
	root := &ownedField{}
	for _, entry := range o.entries {
		for _, path := range entry.Fields() {
			at := root
			for _, element := range path.elements {
				if !slices.Contains(at.versions, entry.APIVersion) {
					at.versions = append(at.versions, entry.APIVersion)
				}
				at = at.child(element)
			}
			at.owners = append(at.owners, entry.Manager)
		}
	}
	return root
}

func (n *ownedField) child(name fieldpath.PathElement) *ownedField {
	if known := n.find(name); known != nil {
		return known
	}
	added := &ownedField{name: name}
	n.below = append(n.below, added)
	if n.byName == nil {
		n.byName = map[string]*ownedField{}
	}
	n.byName[notation.Text(name)] = added
	return added
}

func (n *ownedField) find(name fieldpath.PathElement) *ownedField {
	if n == nil {
		return nil
	}
	return n.byName[notation.Text(name)]
}

// whole returns the managers that own the field as a whole.
func (n *ownedField) whole() []Manager {
	if n == nil {
		return nil
	}
	var found []Manager
	for _, owner := range n.owners {
		if !slices.Contains(n.versions, owner.APIVersion) {
			found = append(found, owner)
		}
	}
	return found
}

// named returns the owners of the field itself.
func (n *ownedField) named() []Manager {
	if n == nil {
		return nil
	}
	return n.owners
}
