package steady

import (
	"encoding/binary"
	"hash/maphash"
	"math"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// valueHash hashes values in the order of their fields.
type valueHash struct {
	seed maphash.Seed
	sum  uint64
}

// owned hashes the values of a set: its leaves, and values that are owned as a whole. It
// returns false if one is missing.
func (h *valueHash) owned(set *fieldpath.Set, of value.Value) bool {
	found := true
	set.Members.Iterate(func(element fieldpath.PathElement) {
		if _, ok := set.Children.Get(element); ok {
			return
		}
		at, index, ok := elementOf(of, element)
		found = found && ok
		h.number(uint64(index))
		h.number(h.whole(at))
	})
	set.Children.Iterate(func(element fieldpath.PathElement) {
		below, _ := set.Children.Get(element)
		at, index, _ := elementOf(of, element)
		h.number(uint64(index))
		found = h.owned(below, at) && found
	})
	return found
}

// elementOf returns the value to which one step of a path leads and, in a list, its index: a
// new order is a change.
func elementOf(of value.Value, element fieldpath.PathElement) (at value.Value, index int, found bool) {
	switch {
	case of == nil:
		return nil, 0, false
	case element.FieldName != nil:
		if !of.IsMap() {
			return nil, 0, false
		}
		at, found = of.AsMap().Get(*element.FieldName)
		return at, 0, found
	case !of.IsList():
		return nil, 0, false
	}
	items := of.AsList()
	for i := range items.Length() {
		if item := items.At(i); isElement(item, i, element) {
			return item, i, true
		}
	}
	return nil, 0, false
}

func isElement(item value.Value, index int, element fieldpath.PathElement) bool {
	switch {
	case element.Index != nil:
		return index == *element.Index
	case element.Value != nil:
		return value.Equals(item, *element.Value)
	case !item.IsMap():
		return false
	}
	fields := item.AsMap()
	for _, key := range *element.Key {
		if at, ok := fields.Get(key.Name); !ok || !value.Equals(at, key.Value) {
			return false
		}
	}
	return true
}

// whole returns the hash of a value with all below it.
func (h *valueHash) whole(of value.Value) uint64 {
	part := valueHash{seed: h.seed}
	switch {
	case of == nil || of.IsNull():
		part.number(1)
	case of.IsBool():
		part.number(2)
		if of.AsBool() {
			part.number(1)
		}
	case of.IsInt():
		part.number(3)
		part.number(uint64(of.AsInt()))
	case of.IsFloat():
		part.number(4)
		part.number(math.Float64bits(of.AsFloat()))
	case of.IsString():
		part.number(5)
		part.number(maphash.String(h.seed, of.AsString()))
	case of.IsList():
		part.number(6)
		items := of.AsList()
		for i := range items.Length() {
			part.number(h.whole(items.At(i)))
		}
	case of.IsMap():
		part.number(7)
		var sum uint64 // in any order
		of.AsMap().Iterate(func(name string, at value.Value) bool {
			field := valueHash{seed: h.seed}
			field.number(maphash.String(h.seed, name))
			field.number(h.whole(at))
			sum += field.sum
			return true
		})
		part.number(sum)
	}
	return part.sum
}

func (h *valueHash) number(n uint64) {
	var both [16]byte
	binary.LittleEndian.PutUint64(both[:8], h.sum)
	binary.LittleEndian.PutUint64(both[8:], n)
	h.sum = maphash.Bytes(h.seed, both[:])
}
