package steady

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"

	"coapply.dev/apply/internal/gotypes"
)

// Shows reports whether the Go type of the object shows every field of the configuration as the API server stores it.
func (r Request) Shows(read Read, schemas managedfields.TypeConverter) bool {
	wanted, set, err := r.typed(schemas)
	return err == nil && !read.hides(set, wanted.Schema(), wanted.TypeRef())
}

// hides reports whether the Go type of the object may show the given fields differently from their stored form.
//
// A Go type lacks fields that only a newer API server has. It may also change the form of a value. For example, the API
// server stores the text 1024Mi in a custom resource, but a resource.Quantity shows 1Gi, and applying 1Gi would change
// the stored text. For kinds that are compiled into the API server, the Go type shows the stored form.
func (r Read) hides(set *fieldpath.Set, server *schema.Schema, of schema.TypeRef) bool {
	if _, raw := r.Object.(runtime.Unstructured); raw {
		return false
	}
	goType := gotypes.PointedAt(reflect.TypeOf(r.Object))
	v := view{server, map[shown]bool{}}
	return !v.shows(set, seen{goType, of, gotypes.IsServersOwn(r.Kind, goType)})
}

// view checks whether Go types can show everything that the API server's schema permits in a value.
type view struct {
	server  *schema.Schema
	visited map[shown]bool // types that were checked; without it, a type that contains itself would never end
}

// seen is the type of one value: its Go type, and its type in the API server's schema.
type seen struct {
	goType reflect.Type
	of     schema.TypeRef
	exact  bool // the Go type shows values in the API server's stored form
}

// shown identifies a pair of a Go type and a schema type that showsWhole has already checked.
type shown struct {
	goType reflect.Type
	name   string
	exact  bool
}

// shows reports whether the Go type of a value shows every field of a set completely. The paths in the set are relative
// to the value.
func (v view) shows(set *fieldpath.Set, at seen) bool {
	at.goType = gotypes.PointedAt(at.goType)
	if gotypes.HasOwnForm(at.goType) {
		return at.exact
	}
	all := true
	set.Members.Iterate(func(element fieldpath.PathElement) {
		if _, above := set.Children.Get(element); above || !all {
			return
		}
		below, ok := v.below(at, element)
		all = ok && v.showsWhole(below)
	})
	set.Children.Iterate(func(element fieldpath.PathElement) {
		if !all {
			return
		}
		fields, _ := set.Children.Get(element)
		below, ok := v.below(at, element)
		all = ok && v.shows(fields, below)
	})
	return all
}

// below returns the type of the field or list item that a path element identifies in a value. ok is false if the Go
// type or the schema does not have the field, or if the Go type lacks a key of the list item.
func (v view) below(at seen, element fieldpath.PathElement) (below seen, ok bool) {
	atom, _ := v.server.Resolve(at.of)
	list := at.goType.Kind() == reflect.Slice || at.goType.Kind() == reflect.Array
	switch {
	case element.FieldName != nil:
		return v.field(at, atom, *element.FieldName)
	case !list || atom.List == nil:
		return seen{}, false
	}
	item := gotypes.PointedAt(at.goType.Elem())
	for _, key := range atom.Keys {
		if item.Kind() != reflect.Struct || gotypes.FieldType(item, key) == nil {
			return seen{}, false
		}
	}
	return seen{item, atom.List.ElementType, at.exact}, true
}

func (v view) field(at seen, atom schema.Atom, name string) (below seen, ok bool) {
	if atom.Map == nil {
		return seen{}, false
	}
	below = seen{gotypes.FieldType(at.goType, name), atom.Map.ElementType, at.exact}
	if known, found := atom.FindField(name); found {
		below.of = known.Type
	}
	return below, below.goType != nil
}

// showsWhole reports whether the Go type of a value has a field for each field that the API server may store in the value,
// at any depth.
func (v view) showsWhole(at seen) bool {
	goType := gotypes.PointedAt(at.goType)
	atom, ok := v.server.Resolve(at.of)
	switch {
	case !ok:
		return false
	case goType == reflect.TypeFor[intstr.IntOrString]():
		return true
	case gotypes.HasOwnForm(goType):
		return at.exact
	}
	if at.of.NamedType != nil {
		this := shown{goType, *at.of.NamedType, at.exact}
		if v.visited[this] {
			return true
		}
		v.visited[this] = true
	}
	switch goType.Kind() {
	case reflect.Slice, reflect.Array:
		if goType.Elem().Kind() == reflect.Uint8 { // the same bytes have several forms in base64
			return at.exact
		}
		return atom.List != nil && v.showsWhole(seen{goType.Elem(), atom.List.ElementType, at.exact})
	case reflect.Map, reflect.Struct:
		return atom.Map != nil && v.showsFields(seen{goType, at.of, at.exact}, atom.Map)
	}
	return true // a scalar: the read would have failed if the stored value had another type
}

func (v view) showsFields(at seen, server *schema.Map) bool {
	for _, field := range server.Fields {
		below, ok := v.field(at, schema.Atom{Map: server}, field.Name)
		if !ok || !v.showsWhole(below) {
			return false
		}
	}
	switch unknown, _ := v.server.Resolve(server.ElementType); {
	case unknown == schema.Atom{}:
		return true
	case at.goType.Kind() == reflect.Struct: // the schema permits fields that the struct does not have
		return at.exact && at.goType.NumField() == 0 // but the API server stores none of them if it uses the same empty struct
	}
	return v.showsWhole(seen{at.goType.Elem(), server.ElementType, at.exact})
}
