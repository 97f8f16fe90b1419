package fieldowners

import (
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"

	"coapply.dev/fieldowners/internal/items"
)

// joining joins an object with its ownership.
type joining struct {
	naming map[string]items.Naming
}

// place is a value of the object, with what is owned there.
type place struct {
	path  fieldpath.Path
	list  string // the path without the names of items, as naming knows it
	value any
	owned *ownedField // nil if nothing is owned
	whole []Manager
}

func (j *joining) join(at place) Field {
	path := Path{elements: at.path.Copy()}
	field := Field{Path: path, Value: at.value, Exists: true, Whole: at.whole, Server: path.IsServerKept()}
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

// below returns the fields or items of the value, down to MaxDepth.
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

// itemNames returns the name of each item of a list: as an owner names it, otherwise by the
// keys of its list, otherwise by its index.
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

// missing returns the fields that are owned below a place and absent in the object.
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
