package fieldowners

import (
	"iter"
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"

	"coapply.dev/fieldowners/internal/items"
	"coapply.dev/fieldowners/internal/notation"
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
	// Server reports whether the API server maintains the field itself and records no owner.
	// Examples are apiVersion, kind, metadata.name and metadata.uid.
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
	j := joining{naming: namingOf([]Ownership{o})}
	return j.join(place{value: object, owned: ownedTree(o)})
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

// IsShared reports whether several managers own the field. A manager that has entries in several
// apiVersions counts as one manager.
func (f Field) IsShared() bool {
	all := slices.Concat(f.Owners, f.Whole)
	return slices.ContainsFunc(all, func(m Manager) bool { return !m.SameWriter(all[0]) })
}

// IsUnowned reports whether the field is an existing leaf without an owner, such as a default that
// the API server set. It returns false if Server is true.
func (f Field) IsUnowned() bool {
	return f.Exists && f.IsLeaf() && !f.Server && len(f.Owners) == 0 && len(f.Whole) == 0
}

// ownedField is one field in the tree of all fields that the managed fields of an object name.
type ownedField struct {
	name     fieldpath.PathElement
	owners   []Manager
	below    []*ownedField
	byName   map[string]*ownedField
	versions []string // the apiVersions of the entries that name a field below this field
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

// whole returns the managers that own the field as a whole: their entries name the field, and no entry
// of the same apiVersion names a field below.
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

// named returns the managers whose entries name the field itself.
func (n *ownedField) named() []Manager {
	if n == nil {
		return nil
	}
	return n.owners
}

// itemFinder finds the item of a list that a path element of managed fields identifies.
type itemFinder struct {
	byName map[string]int // the index of the first item with each name
	odd    []any          // the items without a name, because they lack a key field or are not scalars
	places []int          // the index in the list of each item in odd
}

func newItemFinder(how items.Naming, list []any) itemFinder {
	f := itemFinder{byName: map[string]int{}}
	for i, item := range list {
		if name, ok := how.NameOf(item); !ok {
			f.odd, f.places = append(f.odd, item), append(f.places, i)
		} else if _, has := f.byName[notation.Text(name)]; !has {
			f.byName[notation.Text(name)] = i
		}
	}
	return f
}

// find returns the index of the list item that a path element identifies, or -1 if the list has no
// such item. It also returns -1 for an element that is an index.
func (f itemFinder) find(name fieldpath.PathElement) int {
	if i, has := f.byName[notation.Text(name)]; has {
		return i
	}
	if _, has := child(f.odd, name); name.Index != nil || !has {
		return -1
	}
	return f.places[indexOf(f.odd, name)]
}

// joining is the state of one call of Join.
type joining struct {
	naming map[string]items.Naming
}

// place is a value of the object, with the owned fields at and below the path of the value.
type place struct {
	path  fieldpath.Path
	list  string // the path with [] for each list item, which is the key of joining.naming
	value any
	owned *ownedField // nil if no manager owns this field or a field below
	whole []Manager   // the managers that own a parent of this field as a whole
}

func (j *joining) join(at place) Field {
	path := Path{elements: at.path.Copy()}
	field := Field{Path: path, Value: at.value, Exists: true, Whole: at.whole, Server: path.isServerKept()}
	field.Owners = at.owned.named()
	if whole := at.owned.whole(); len(whole) > 0 {
		at.whole = slices.Concat(at.whole, whole)
	}
	matched := map[*ownedField]bool{}
	for _, below := range j.below(at) {
		field.Fields = append(field.Fields, j.join(below))
		matched[below.owned] = true
	}
	field.Fields = append(field.Fields, missing(at, matched)...)
	return field
}

// below returns the places of the fields of a map, or of the items of a list. The result is empty at MaxDepth.
func (j *joining) below(at place) []place {
	if len(at.path) >= MaxDepth {
		return nil
	}
	var found []place
	add := func(name fieldpath.PathElement, value any) {
		found = append(found, place{
			path: append(at.path.Copy(), name), list: placeBelow(at.list, name), value: value,
			owned: at.owned.find(name), whole: at.whole,
		})
		if last := &found[len(found)-1]; last.owned == nil && (Path{elements: last.path}).IsKeyField() {
			isWhole := func(m Manager) bool { return slices.Contains(at.whole, m) }
			last.whole = slices.Concat(at.whole, slices.DeleteFunc(slices.Clone(at.owned.named()), isWhole))
		}
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

// itemNames returns the path element of each item of a list. If the managed fields show whether keys or values
// identify the items, and all items have distinct keys or values, the path elements are these keys or values.
// Otherwise, an item that a managed fields entry names has the path element of the entry. Any other item has its
// index.
func (j *joining) itemNames(at place, list []any) []fieldpath.PathElement {
	names := make([]fieldpath.PathElement, len(list))
	named := make([]bool, len(list))
	how, known := j.naming[at.list]
	if !known {
		how.Disputed = true
	}
	if all, ok := how.NameAll(list); ok {
		return all
	}
	if at.owned != nil {
		finder := newItemFinder(how, list)
		for _, owned := range at.owned.below {
			i := finder.find(owned.name)
			if i >= 0 && !named[i] {
				names[i], named[i] = owned.name, true
			}
		}
	}
	for i := range list {
		if !named[i] {
			names[i] = fieldpath.PathElement{Index: &i}
		}
	}
	return names
}

// missing returns the fields below a place that a manager owns but the object does not have. matched
// contains the owned fields directly below the place that the object has.
func missing(at place, matched map[*ownedField]bool) []Field {
	if at.owned == nil {
		return nil
	}
	var fields []Field
	for _, owned := range at.owned.below {
		if matched[owned] {
			continue
		}
		gone := place{path: append(at.path.Copy(), owned.name), owned: owned}
		fields = append(fields, Field{Path: Path{elements: gone.path}, Owners: owned.owners, Fields: missing(gone, nil)})
	}
	return fields
}
