package predict

import (
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/value"

	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/internal/items"
)

// fieldType is what is known about the type of a field, from values and from managed fields.
// All items of a list have the same.
type fieldType struct {
	fields              map[string]*fieldType
	item                *fieldType
	scalar, list, isMap bool // values of these types occur
	granular            bool // a map whose fields are owned one by one
	atomic              bool // a map that is owned as one field
	whole               bool // a list that is owned as one field
	merged              bool // a list taken for one whose items are owned one by one
	named               bool // a list whose items have names
	naming              items.Naming
	unnameable          bool           // a list with items that lack the names that they should have
	defaults            map[string]any // of key fields, for a list
}

func (p *fieldType) field(name string) *fieldType {
	if p.fields == nil {
		p.fields = map[string]*fieldType{}
	}
	if p.fields[name] == nil {
		p.fields[name] = &fieldType{}
	}
	return p.fields[name]
}

func (p *fieldType) items() *fieldType {
	if p.item == nil {
		p.item = &fieldType{}
	}
	return p.item
}

func (p *fieldType) below(element fieldpath.PathElement) *fieldType {
	if element.FieldName != nil {
		return p.field(*element.FieldName)
	}
	return p.items()
}

// see records the types of a value and of all values below it. The error is about a value that
// cannot come from JSON.
func (p *fieldType) see(v any, at fieldpath.Path, depth int) error {
	if depth > fieldowners.MaxDepth {
		return fmt.Errorf("nested deeper than %d levels", fieldowners.MaxDepth)
	}
	switch v := v.(type) {
	case nil:
	case map[string]any:
		p.isMap = true
		for name, child := range v {
			if err := p.field(name).see(child, append(at.Copy(), fieldpath.PathElement{FieldName: &name}), depth+1); err != nil {
				return err
			}
		}
	case []any:
		p.list = true
		for i, child := range v {
			if err := p.items().see(child, append(at.Copy(), fieldpath.PathElement{Index: &i}), depth+1); err != nil {
				return err
			}
		}
	case string, bool, int64, float64:
		p.scalar = true
	default:
		return fmt.Errorf("%s is a Go %T, which does not come from JSON: want map[string]any, []any, string, bool, int64, float64 or nil",
			fieldowners.PathOf(at), v)
	}
	return nil
}

// learn records from one manager's fields which maps and lists are owned by parts, and by
// which.
func (p *fieldType) learn(set *fieldpath.Set, applied bool) {
	one := func(element fieldpath.PathElement) {
		how, names := items.NamingOf(element)
		switch {
		case element.FieldName != nil:
			p.granular = true
		case !names:
			p.naming.Disputed = true
		case !p.named:
			p.naming = how
		case !slices.Equal(p.naming.Fields, how.Fields):
			p.naming.Disputed = true
		}
		p.named = p.named || element.FieldName == nil
	}
	set.Members.Iterate(one)
	set.Children.Iterate(func(element fieldpath.PathElement) {
		one(element)
		below, _ := set.Children.Get(element)
		if applied && element.Key != nil && set.Members.Has(element) {
			p.learnDefaults(*element.Key, below)
		}
		p.below(element).learn(below, applied)
	})
}

// learnDefaults records the key fields that an applier left to the server: an applier owns
// every field that it lists.
func (p *fieldType) learnDefaults(key value.FieldList, owned *fieldpath.Set) {
	var left []value.Field
	for _, field := range key {
		if !owned.Members.Has(fieldpath.PathElement{FieldName: &field.Name}) {
			left = append(left, field)
		}
	}
	if len(left) == len(key) { // written by an update once, field by field
		return
	}
	for _, field := range left {
		p.setDefault(field.Name, field.Value.Unstructured())
	}
}

// setDefault records a default; a different one makes it unknown.
func (p *fieldType) setDefault(name string, v any) {
	known, has := p.defaults[name]
	if p.defaults == nil {
		p.defaults = map[string]any{}
	}
	if has && !fieldowners.EqualValues(known, v) {
		v = nil
	}
	p.defaults[name] = v
}

// nameOf returns the name of an item as the server has it, with defaults for absent key fields.
func (p *fieldType) nameOf(item any) (fieldpath.PathElement, bool) {
	if fields, isMap := item.(map[string]any); isMap {
		filled := maps.Clone(fields)
		for name, v := range p.defaults {
			if _, has := filled[name]; !has {
				filled[name] = v
			}
		}
		item = filled
	}
	return p.naming.NameOf(item)
}

// hasItems reports whether items of the list are owned one by one and can be named.
func (p *fieldType) hasItems() bool { return p.named && !p.naming.Disputed && !p.unnameable }

// lists visits the lists of a value, except those in items without names.
func (p *fieldType) lists(v any, at fieldpath.Path, visit func(p *fieldType, at fieldpath.Path, items []any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			p.field(name).lists(v[name], append(at.Copy(), fieldpath.PathElement{FieldName: &name}), visit)
		}
	case []any:
		visit(p, at, v)
		if !p.hasItems() {
			return
		}
		for _, item := range v {
			if element, ok := p.nameOf(item); ok {
				p.items().lists(item, append(at.Copy(), element), visit)
			}
		}
	}
}
