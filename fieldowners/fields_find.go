package fieldowners

import (
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"

	"coapply.dev/fieldowners/internal/items"
	"coapply.dev/fieldowners/internal/notation"
)

// itemFinder finds items of a list by the names that owners give them.
type itemFinder struct {
	byName map[string]int // index of the first item of each name
	odd    []any          // items that cannot be named
	places []int          // their indexes in items
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

// find returns the index of an item, by the rules of child; -1 if there is none, and for an index, which names items that
// have no other name.
func (f itemFinder) find(name fieldpath.PathElement) int {
	if i, has := f.byName[notation.Text(name)]; has {
		return i
	}
	if _, has := child(f.odd, name); name.Index != nil || !has {
		return -1
	}
	return f.places[indexOf(f.odd, name)]
}
