package fieldowners

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// Field is one field of an object with its value, its owners and the fields below it.
type Field struct {
	Path   Path
	Value  any       // not copied from the object, and not hidden for a Secret; nil if the field does not exist
	Exists bool      // false if an entry names the field, but the object does not have it
	Owners []Manager // the managers whose managed fields entries name exactly this field
	// Whole lists the managers that own a parent of the field as a whole, such as an atomic list, and therefore own
	// the field. For a key field that no managed fields entry names, Whole also lists the owners of the list item.
	Whole []Manager
	// Server reports whether the API server itself maintains the field, such as kind or metadata.uid, without an owner.
	Server bool
	Fields []Field // map fields sorted by name, or list items in their order; then fields that do not exist
}

// Join returns the fields of an unstructured object with their owners, as a tree, without metadata.managedFields.
// The values of a Secret are included: hide them (see Hide) before you show them. A field nested 1000 levels deep is
// a leaf, and its value contains the fields below.
//
// List items are identified as in the managed fields, or by index if no entry names the item. A manager owns a field
// as a whole if its entry names the field, and no entry of the same apiVersion names a field below the field. Such a
// manager also owns all fields below, and is in Field.Whole of these fields.
func (o Ownership) Join(object map[string]any) Field {
	root := place{value: object}
	for _, entry := range o.entries {
		root.held = append(root.held, held{Manager: entry.Manager, below: entry.fields})
	}
	return joining(namingsIn([]Ownership{o})).join(root)
}

// All returns the field itself and all fields below the field, parents before their children.
func (f Field) All() iter.Seq[Field] {
	return func(yield func(Field) bool) { f.each(yield) }
}

func (f Field) each(yield func(Field) bool) bool {
	return yield(f) && !slices.ContainsFunc(f.Fields, func(below Field) bool { return !below.each(yield) })
}

// IsLeaf reports whether the field has no fields below it.
func (f Field) IsLeaf() bool { return len(f.Fields) == 0 }

// IsShared reports whether several managers own the field. Entries of one manager in several apiVersions count as one.
func (f Field) IsShared() bool {
	all := slices.Concat(f.Owners, f.Whole)
	return slices.ContainsFunc(all, func(m Manager) bool { return !m.SameWriter(all[0]) })
}

// IsUnowned reports whether the field is an existing leaf without an owner, such as a default that the API server set.
// It returns false if Server is true.
func (f Field) IsUnowned() bool {
	return f.Exists && f.IsLeaf() && !f.Server && len(f.Owners) == 0 && len(f.Whole) == 0
}

// held is the part of one managed fields entry that names one field of an object (see place) or fields below it.
type held struct {
	Manager

	itself bool           // whether the entry names this field itself
	below  *fieldpath.Set // the fields below this field that the entry names
}

func heldBelow(all []held, name fieldpath.PathElement) []held {
	var found []held
	for _, h := range all {
		below, has := h.below.Children.Get(name)
		if itself := h.below.Members.Has(name); itself || has {
			found = append(found, held{h.Manager, itself, cmp.Or(below, fieldpath.NewSet())})
		}
	}
	return found
}

// named returns the managers whose entries name the field itself.
func named(all []held) (managers []Manager) {
	for _, h := range all {
		if h.itself {
			managers = append(managers, h.Manager)
		}
	}
	return managers
}

// whole returns the managers that own the field as a whole (see Join).
func whole(all []held) []Manager {
	return slices.DeleteFunc(named(all), func(owner Manager) bool {
		return slices.ContainsFunc(all, func(h held) bool { return h.APIVersion == owner.APIVersion && !h.below.Empty() })
	})
}

// namesIn returns the path elements of a field's children that at least one of the given managed fields entries names.
func namesIn(all []held) *fieldpath.PathElementSet {
	names := &fieldpath.PathElementSet{}
	for _, h := range all {
		children := &fieldpath.PathElementSet{}
		h.below.Children.Iterate(children.Insert)
		names = names.Union(&h.below.Members).Union(children)
	}
	return names
}

// place is one field of the object, with the parts of the managed fields entries that are at and below the field.
type place struct {
	path  fieldpath.Path
	list  string // the path with [] for each list item, which is the key of joining
	value any
	held  []held    // the parts of the entries that name this field or a field below
	whole []Manager // the managers that own a parent of this field as a whole
}

// joining says how managed fields identify the items of each list. The key is the path of the list, as in namingsIn.
type joining map[string]naming

func (j joining) join(at place) Field {
	path := Path{elements: at.path.Copy()}
	field := Field{Path: path, Value: at.value, Exists: true, Owners: named(at.held), Whole: at.whole, Server: path.isServerKept()}
	if owners := whole(at.held); len(owners) > 0 {
		at.whole = slices.Concat(at.whole, owners)
	}
	matched := &fieldpath.PathElementSet{}
	for _, below := range j.below(at) {
		field.Fields = append(field.Fields, j.join(below))
		matched.Insert(below.path[len(below.path)-1])
	}
	field.Fields = append(field.Fields, missing(at, matched)...)
	return field
}

// below returns the places directly below a place: one for each field of a map, or for each item of a list. It returns none
// at MaxDepth.
func (j joining) below(at place) []place {
	if len(at.path) >= MaxDepth {
		return nil
	}
	var found []place
	add := func(name fieldpath.PathElement, value any) {
		below := place{
			path: append(at.path.Copy(), name), list: placeBelow(at.list, name), value: value,
			held: heldBelow(at.held, name), whole: at.whole,
		}
		if len(below.held) == 0 && (Path{elements: below.path}).IsKeyField() {
			isWhole := func(m Manager) bool { return slices.Contains(at.whole, m) }
			below.whole = slices.Concat(at.whole, slices.DeleteFunc(named(at.held), isWhole))
		}
		found = append(found, below)
	}
	switch value := at.value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if at.list != ".metadata" || name != "managedFields" {
				add(fieldpath.PathElement{FieldName: &name}, value[name])
			}
		}
	case []any:
		for i, name := range j.itemNames(at, value) {
			add(name, value[i])
		}
	}
	return found
}

// itemNames returns one path element for each item of a list. If the managed fields show whether keys or values
// identify the items, and each item has a different key or value, the path elements are these keys or values.
// Otherwise, an item that a managed fields entry names gets the entry's path element, and any other item its index.
func (j joining) itemNames(at place, items []any) []fieldpath.PathElement {
	how, known := j[at.list]
	how.disputed = how.disputed || !known
	list := how.list(items)
	if list.isDistinct() {
		return list.names
	}
	names := make([]fieldpath.PathElement, len(items))
	for i := range items {
		names[i].Index = &i
	}
	namesIn(at.held).Iterate(func(name fieldpath.PathElement) {
		if i := list.find(name); i >= 0 && names[i].Index != nil {
			names[i] = name
		}
	})
	return names
}

// missing returns the owned fields below a place that are absent from the object. matched contains the path elements of
// those children of the place that are present in the object.
func missing(at place, matched *fieldpath.PathElementSet) (fields []Field) {
	namesIn(at.held).Difference(matched).Iterate(func(name fieldpath.PathElement) {
		gone := place{path: append(at.path.Copy(), name), held: heldBelow(at.held, name)}
		fields = append(fields, Field{Path: Path{elements: gone.path}, Owners: named(gone.held), Fields: missing(gone, &fieldpath.PathElementSet{})})
	})
	return fields
}
