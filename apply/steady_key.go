package apply

import (
	"encoding/binary"
	"encoding/json"
	"hash/maphash"
	"math"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// provenKey is the content of an intent, and who applies it to what.
type provenKey struct {
	intent      [2]uint64
	manager     string
	subresource string
}

// keyOf gives the same key for the same content, and not for other content. A typed
// configuration is read as it is, which takes a fifth of the time that its JSON takes.
func (s *SteadyState) keyOf(configuration runtime.ApplyConfiguration, manager, subresource string) (provenKey, bool) {
	config := reflect.ValueOf(configuration)
	if !config.IsValid() || config.Kind() != reflect.Pointer || config.IsNil() {
		return provenKey{}, false
	}
	buffer := contents.Get().(*contentBytes)
	defer contents.Put(buffer)
	buffer.bytes = append(buffer.bytes[:0], config.Type().String()...)
	if _, raw := configuration.(unstructuredHolder); raw || !buffer.add(config, s.seeds[0]) {
		encoded, err := toJSON(configuration)
		if err != nil {
			return provenKey{}, false
		}
		buffer.bytes = append(buffer.bytes[:0], encoded.raw...)
	}
	hashes := [2]uint64{maphash.Bytes(s.seeds[0], buffer.bytes), maphash.Bytes(s.seeds[1], buffer.bytes)}
	return provenKey{hashes, manager, subresource}, true
}

var contents = sync.Pool{New: func() any { return &contentBytes{} }}

// contentBytes are what a value holds, as bytes from which it could be read again.
type contentBytes struct{ bytes []byte }

func (c *contentBytes) number(n uint64) { c.bytes = binary.AppendUvarint(c.bytes, n) }

func (c *contentBytes) flag(b bool) {
	if b {
		c.number(1)
	} else {
		c.number(0)
	}
}

func (c *contentBytes) text(s string) {
	c.number(uint64(len(s)))
	c.bytes = append(c.bytes, s...)
}

// add fails for what it does not know: interfaces, and structs that hide something.
func (c *contentBytes) add(v reflect.Value, seed maphash.Seed) bool {
	if v.Kind() == reflect.Pointer {
		c.flag(!v.IsNil())
		if v.IsNil() {
			return true
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		c.text(v.String())
	case reflect.Bool:
		c.flag(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		c.number(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		c.number(v.Uint())
	case reflect.Float32, reflect.Float64:
		c.number(math.Float64bits(v.Float()))
	case reflect.Slice:
		c.number(uint64(v.Len()))
		for i := range v.Len() {
			if !c.add(v.Index(i), seed) {
				return false
			}
		}
	case reflect.Map:
		return c.addMap(v, seed)
	case reflect.Struct:
		return c.addStruct(v, seed)
	default:
		return false
	}
	return true
}

// addMap adds the entries as one sum, so that their order is none.
func (c *contentBytes) addMap(v reflect.Value, seed maphash.Seed) bool {
	if v.Type().Key().Kind() != reflect.String {
		return false
	}
	var sum, other uint64
	start := len(c.bytes)
	entries := v.MapRange()
	for entries.Next() {
		c.text(entries.Key().String())
		if !c.add(entries.Value(), seed) {
			return false
		}
		hash := maphash.Bytes(seed, c.bytes[start:])
		sum, other = sum+hash, other^hash*0x9e3779b97f4a7c15
		c.bytes = c.bytes[:start]
	}
	c.number(uint64(v.Len()))
	c.number(sum)
	c.number(other)
	return true
}

func (c *contentBytes) addStruct(v reflect.Value, seed maphash.Seed) bool {
	shape := shapeOf(v.Type())
	switch {
	case shape.hidden:
		return false
	case shape.marshals:
		encoded, err := json.Marshal(v.Interface())
		c.text(string(encoded))
		return err == nil
	}
	for _, i := range shape.fields {
		field := v.Field(i)
		if field.IsZero() {
			continue
		}
		c.number(uint64(i) + 1)
		if !c.add(field, seed) {
			return false
		}
	}
	c.number(0)
	return true
}

// shape is what is known of a struct.
type shape struct {
	marshals bool // writes itself
	hidden   bool // has fields that cannot be read
	fields   []int
}

var shapes sync.Map // of reflect.Type

func shapeOf(t reflect.Type) *shape {
	if known, ok := shapes.Load(t); ok {
		return known.(*shape)
	}
	found := &shape{marshals: t.Implements(reflect.TypeFor[json.Marshaler]()) ||
		reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]())}
	for i := range t.NumField() {
		found.hidden = found.hidden || !t.Field(i).IsExported()
		found.fields = append(found.fields, i)
	}
	found.hidden = found.hidden && !found.marshals
	found.fields = slices.Clip(found.fields)
	shapes.Store(t, found)
	return found
}
