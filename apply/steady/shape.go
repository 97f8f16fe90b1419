package steady

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// shape says how values of a type are read for the key of a configuration. It models
// encoding/json: what is read determines the JSON.
type shape struct {
	number uint64 // of the type
	reading
	elem   *shape // of a pointer, a slice or a map
	fields []fieldShape

	entries *sync.Pool // of *entry, of a map
}

type fieldShape struct {
	index int
	*shape
}

// reading is what of a value determines its JSON.
type reading int

const (
	// unread: not known. The whole configuration is read as its JSON.
	unread reading = iota
	// itself: the value marshals itself, so its JSON is read. Whether a method of the pointer
	// is used depends on whether the value is addressable, as for encoding/json.
	itself
	text
	boolean
	integer
	unsigned
	float
	bytesOf
	pointer
	list
	mapping
	structure
)

// shapes are the shapes of the types of configurations so far, and of all types in them.
var shapes = struct {
	ofConfigs sync.Map // of reflect.Type
	mu        sync.Mutex
	all       map[reflect.Type]*shape
}{all: map[reflect.Type]*shape{}}

func shapeOf(t reflect.Type) *shape {
	if known, ok := shapes.ofConfigs.Load(t); ok {
		return known.(*shape)
	}
	shapes.mu.Lock()
	defer shapes.mu.Unlock()
	found := makeShape(t)
	shapes.ofConfigs.Store(t, found)
	return found
}

// makeShape returns the shape of a type, and stores it before those of its fields, as a type
// may contain itself.
func makeShape(t reflect.Type) *shape {
	if known, ok := shapes.all[t]; ok {
		return known
	}
	s := &shape{number: uint64(len(shapes.all)) + firstShape}
	shapes.all[t] = s
	s.reading = readingOf(t)
	switch s.reading {
	case pointer, list:
		s.elem = makeShape(t.Elem())
	case mapping:
		s.elem = makeShape(t.Elem())
		s.entries = &sync.Pool{New: func() any { return newEntry(t) }}
	case structure:
		s.addFields(t)
	}
	return s
}

func readingOf(t reflect.Type) reading {
	if writesItself(t) {
		return itself
	}
	switch t.Kind() {
	case reflect.String:
		return text
	case reflect.Bool:
		return boolean
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return integer
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return unsigned
	case reflect.Float32, reflect.Float64:
		return float
	case reflect.Pointer:
		return pointer
	case reflect.Struct:
		return structure
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 && !writesItself(t.Elem()) {
			return bytesOf
		}
		return list
	case reflect.Map:
		if t.Key().Kind() == reflect.String { // encoding/json does not call methods of such keys
			return mapping
		}
	}
	return unread // for example an interface, whose value may have any type
}

// entry holds one entry of a map after the other, so that reading them allocates nothing.
type entry struct {
	key, value reflect.Value // value is invalid if it matters that values of a map have no address
}

func newEntry(of reflect.Type) *entry {
	e := &entry{key: reflect.New(of.Key()).Elem()}
	if !addressMatters(of.Elem()) {
		e.value = reflect.New(of.Elem()).Elem()
	}
	return e
}

func (e *entry) at(entries *reflect.MapIter) (key, value reflect.Value) {
	e.key.SetIterKey(entries)
	if !e.value.IsValid() {
		return e.key, entries.Value()
	}
	e.value.SetIterValue(entries)
	return e.key, e.value
}

// clear drops the references to a configuration.
func (e *entry) clear() {
	e.key.SetZero()
	if e.value.IsValid() {
		e.value.SetZero()
	}
}

// addressMatters reports whether encoding/json may write an addressable value differently. (The
// items of a slice, and what a pointer points to, are always addressable, the values of a map
// never.)
func addressMatters(t reflect.Type) bool {
	if t.Implements(reflect.TypeFor[json.Marshaler]()) {
		return false
	}
	return writesItself(t) || t.Kind() == reflect.Struct // an array is unread
}

func writesItself(t reflect.Type) bool {
	to := reflect.PointerTo(t)
	return to.Implements(reflect.TypeFor[json.Marshaler]()) || to.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// addFields adds the fields of a struct. The shape becomes unread if the JSON may depend on
// what is not read: on unexported fields, as those of an embedded struct may be used, or on
// omitzero, which may call an IsZero method.
func (s *shape) addFields(t reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag := field.Tag.Get("json")
		_, options, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-":
			continue
		case !field.IsExported(), strings.Contains(options, "omitzero"):
			s.reading, s.fields = unread, nil
			return
		}
		s.fields = append(s.fields, fieldShape{i, makeShape(field.Type)})
	}
}
