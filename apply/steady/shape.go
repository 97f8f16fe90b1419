package steady

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// shape is how values of a type are read for the key of a configuration. It is a model
// of encoding/json: what is read determines the JSON.
type shape struct {
	number uint64 // tells the types of configurations apart
	reading
	elem   *shape // of a pointer, a slice or a map
	fields []fieldShape

	entries *sync.Pool // of *entry, of a map
}

type fieldShape struct {
	index int
	*shape
}

// reading says what of a value determines its JSON.
type reading int

const (
	// unread: nobody knows. The whole configuration is read as its JSON.
	unread reading = iota
	// itself: the value writes itself, so that its JSON is asked for. Whether that takes
	// a method of the pointer depends on the place, as it does for encoding/json.
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

// shapes are those of the types that were configurations, and of all below them.
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

// makeShape finds a type that contains itself under way.
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
	if t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface && writesItself(t) {
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
		if t.Key().Kind() == reflect.String { // whose methods are not asked
			return mapping
		}
	}
	return unread // interfaces among them, as what they hold has any type
}

// entry is where the entries of a map are read, one after the other, without memory for
// each.
type entry struct {
	key, value reflect.Value // value: none where it matters that a map's values have no address
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

// clear keeps nothing of a configuration alive.
func (e *entry) clear() {
	e.key.SetZero()
	if e.value.IsValid() {
		e.value.SetZero()
	}
}

// addressMatters reports whether encoding/json may write a value otherwise where there is a
// pointer to it. (The items of a slice, and what a pointer points to, always have one, and
// the values of a map never.)
func addressMatters(t reflect.Type) bool {
	if t.Implements(reflect.TypeFor[json.Marshaler]()) {
		return false
	}
	return writesItself(t) || t.Kind() == reflect.Struct || t.Kind() == reflect.Array
}

func writesItself(t reflect.Type) bool {
	to := reflect.PointerTo(t)
	return to.Implements(reflect.TypeFor[json.Marshaler]()) || to.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// addFields fails where JSON may depend on what is not read: on fields that are not
// exported, as those of an embedded struct may be used, and on a method that says what
// is zero.
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
