package steady

import (
	"encoding/binary"
	"encoding/json"
	"hash/maphash"
	"math"
	"reflect"
	"sync"
)

var contents = sync.Pool{New: func() any { return &contentBytes{} }}

// contentBytes are the content of a value, in bytes that differ if the content does.
type contentBytes struct{ bytes []byte }

// The bytes begin with asJSON, or with the number of the type's shape.
const (
	isJSON     = 0
	firstShape = 1
)

func (c *contentBytes) reset(first uint64) { c.bytes = binary.AppendUvarint(c.bytes[:0], first) }

// read writes the content of a configuration. It returns false if only encoding/json can write
// it, or refuses to.
func (c *contentBytes) read(config reflect.Value, seed maphash.Seed) bool {
	shape := shapeOf(config.Type())
	c.reset(shape.number)
	return c.add(shape, config, seed, 0)
}

func (c *contentBytes) number(n uint64) { c.bytes = binary.AppendUvarint(c.bytes, n) }

func (c *contentBytes) text(s string) {
	c.number(uint64(len(s)))
	c.bytes = append(c.bytes, s...)
}

// deepest is the depth at which a value is taken to contain itself.
const deepest = 1000

func (c *contentBytes) add(s *shape, v reflect.Value, seed maphash.Seed, depth int) bool {
	if depth > deepest {
		return false
	}
	switch s.reading {
	case itself:
		return c.addItself(v)
	case text:
		c.text(v.String())
	case boolean:
		c.number(oneIf(v.Bool()))
	case integer:
		c.number(uint64(v.Int()))
	case unsigned:
		c.number(v.Uint())
	case float:
		c.number(math.Float64bits(v.Float()))
		return !math.IsNaN(v.Float()) && !math.IsInf(v.Float(), 0)
	case pointer:
		c.number(oneIf(!v.IsNil()))
		return v.IsNil() || c.add(s.elem, v.Elem(), seed, depth+1)
	case bytesOf:
		c.number(oneIf(!v.IsNil())) // [] is not null
		c.written(v.Bytes())
	case list:
		return c.addList(s, v, seed, depth)
	case mapping:
		return c.addMap(s, v, seed, depth)
	case structure:
		return c.addStruct(s, v, seed, depth)
	default:
		return false
	}
	return true
}

func oneIf(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// addItself adds the JSON of a value that marshals itself. As in encoding/json, a method of the
// pointer is used only if the value is addressable.
func (c *contentBytes) addItself(v reflect.Value) bool {
	if v.CanAddr() {
		v = v.Addr()
		if writer, ok := reflect.TypeAssert[json.Marshaler](v); ok { // its output determines the JSON
			written, err := writer.MarshalJSON()
			c.written(written)
			return err == nil
		}
	}
	written, err := json.Marshal(v.Interface())
	c.written(written)
	return err == nil
}

func (c *contentBytes) written(b []byte) {
	c.number(uint64(len(b)))
	c.bytes = append(c.bytes, b...)
}

func (c *contentBytes) addList(s *shape, v reflect.Value, seed maphash.Seed, depth int) bool {
	if v.IsNil() {
		c.number(0)
		return true
	}
	c.number(uint64(v.Len()) + 1)
	for i := range v.Len() {
		if !c.add(s.elem, v.Index(i), seed, depth+1) {
			return false
		}
	}
	return true
}

// addMap adds the entries as one sum, so that their order does not matter.
func (c *contentBytes) addMap(s *shape, v reflect.Value, seed maphash.Seed, depth int) bool {
	if v.IsNil() {
		c.number(0)
		return true
	}
	sum := mapSum{start: len(c.bytes)}
	if labels, ok := reflect.TypeAssert[map[string]string](v); ok { // without a copy of each entry
		for key, value := range labels {
			c.text(key)
			c.text(value)
			sum.take(c, seed)
		}
		return sum.end(c, v.Len())
	}
	entry := s.entries.Get().(*entry)
	defer func() {
		entry.clear()
		s.entries.Put(entry)
	}()
	for entries := v.MapRange(); entries.Next(); {
		key, value := entry.at(entries)
		c.text(key.String())
		if !c.add(s.elem, value, seed, depth+1) {
			return false
		}
		sum.take(c, seed)
	}
	return sum.end(c, v.Len())
}

// mapSum is the sum of the hashes of a map's entries. Each entry is written after start,
// hashed, and removed.
type mapSum struct {
	start      int
	sum, other uint64
}

func (m *mapSum) take(c *contentBytes, seed maphash.Seed) {
	hash := maphash.Bytes(seed, c.bytes[m.start:])
	m.sum, m.other = m.sum+hash, m.other^hash*0x9e3779b97f4a7c15
	c.bytes = c.bytes[:m.start]
}

func (m *mapSum) end(c *contentBytes, entries int) bool {
	c.number(uint64(entries) + 1)
	c.number(m.sum)
	c.number(m.other)
	return true
}

func (c *contentBytes) addStruct(s *shape, v reflect.Value, seed maphash.Seed, depth int) bool {
	for _, field := range s.fields {
		value := v.Field(field.index)
		if field.isUnset(value) {
			continue
		}
		c.number(uint64(field.index) + 1)
		if !c.add(field.shape, value, seed, depth+1) {
			return false
		}
	}
	c.number(0)
	return true
}

// isUnset reports whether a value is zero, for types that have exactly one zero value. (-0 is
// zero to reflect.)
func (s *shape) isUnset(v reflect.Value) bool {
	switch s.reading {
	case pointer, list, mapping, bytesOf:
		return v.IsNil()
	case text:
		return v.Len() == 0
	case boolean, integer, unsigned:
		return v.IsZero()
	}
	return false
}
