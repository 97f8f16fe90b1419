package update

import (
	"fmt"
	"maps"
	"slices"
)

// place is the position of a value in an object, with the Go type of the value.
type place struct {
	goType

	parent *place // nil for the object itself
	name   string // the name of a field; empty for an item of a list
	index  int    // the index of an item of a list
}

func (p *place) field(name string) *place {
	return &place{goType: p.goType.field(name), parent: p, name: name}
}

func (p *place) item(index int) *place {
	return &place{goType: p.goType.item(), parent: p, index: index}
}

// String returns the path of the place, such as .spec.steps[1].size.
func (p *place) String() string {
	switch {
	case p.parent == nil:
		return ""
	case p.name == "":
		return fmt.Sprintf("%v[%d]", p.parent, p.index)
	}
	return fmt.Sprintf("%v.%s", p.parent, p.name)
}

// unknownTo returns the place of a field that the live value has and the Go type lacks, or nil.
// The argument shown is the value as the Go type writes it. A field that is not in shown may
// still exist in the Go type, which omits fields with a zero value.
func unknownTo(at *place, live, shown any) *place {
	switch live := live.(type) {
	case map[string]any:
		shown, _ := shown.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(live)) {
			field := at.field(name)
			if _, written := shown[name]; !written && field.Type == nil {
				return field
			}
			if found := unknownTo(field, live[name], shown[name]); found != nil {
				return found
			}
		}
	case []any:
		shown, _ := shown.([]any)
		for i := range live {
			var item any
			if len(shown) == len(live) {
				item = shown[i]
			}
			if found := unknownTo(at.item(i), live[i], item); found != nil {
				return found
			}
		}
	}
	return nil
}

// refuse rejects a write: it returns an error if one of the given live items of a list has a
// field that the Go type lacks. The argument why is the reason why the item cannot be matched
// with a live item.
func (n narrowing) refuse(list *place, live, shown []any, items []int, why error) error {
	for _, j := range items {
		var item any
		if len(shown) > j {
			item = shown[j]
		}
		if field := unknownTo(list.item(j), live[j], item); field != nil {
			return &UnknownFieldError{Object: n.object, Field: field.String(), List: list.String(), GoType: n.goType, Err: why}
		}
	}
	return nil
}
