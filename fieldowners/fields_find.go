package fieldowners

import "sigs.k8s.io/structured-merge-diff/v4/fieldpath"

// itemFinder finds items of a list by the names that owners give them.
type itemFinder struct {
	items  []any
	byName map[string]int // the first of each name
	odd    []any          // items that cannot be named
	places []int          // of odd ones in items
}

func (n naming) finder(items []any) itemFinder {
	f := itemFinder{items: items, byName: map[string]int{}}
	for i, item := range items {
		name, ok := n.nameOf(item)
		if !ok {
			f.odd, f.places = append(f.odd, item), append(f.places, i)
			continue
		}
		if _, has := f.byName[textOf(name)]; !has {
			f.byName[textOf(name)] = i
		}
	}
	return f
}

// find gives the place of an item, by the rules of child; -1 if it is not there.
func (f itemFinder) find(name fieldpath.PathElement) int {
	if i, has := f.byName[textOf(name)]; has {
		return i
	}
	items := f.odd
	if name.Index != nil {
		items = f.items
	}
	if _, has := child(items, name); name.FieldName != nil || !has {
		return -1
	}
	if name.Index != nil {
		return *name.Index
	}
	return f.places[indexOf(items, name)]
}
