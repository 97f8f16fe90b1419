// Package spelling computes which fields of a Go API type a JSON round trip may change: decoding what a user applied
// and encoding the Go value again.
package spelling

import (
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"coapply.dev/cmd/ownlint/internal/kube"
)

// A Change is a field whose JSON may differ after a round trip.
type Change struct {
	Path string // the JSON path, such as .spec.resources.limits[*]
	Why  string // an example, such as "1000m" becomes "1"
	Kind Kind
}

// Kind is how a round trip changes a field.
type Kind int

// The kinds, the surest first.
const (
	Respelled Kind = iota // a set value is written differently
	Defaulted             // an explicit zero value is dropped, and the API server sets the default instead
	Added                 // an absent field is written with its zero value
)

// Markers are the kubebuilder markers of a field that the round trip depends on.
type Markers struct {
	Optional bool
	Default  bool // a default other than the zero value
}

// Of returns the fields of a typed API object that a round trip may change, the surest first. Fields of metadata and
// status are left out: the API server ignores a status in a write of an object whose type has the status subresource. The
// markers function returns the markers of a struct field; the zero value if they are unknown.
//
// A scalar without omitempty counts as always set, unless the field is marked optional or belongs to a struct that may be
// absent. Types with their own MarshalJSON count as stable, unless their encoding is known.
func Of(object *types.Named, markers func(*types.Var) Markers) []Change {
	w := &walker{markers: markers}
	s, ok := object.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	for i := range s.NumFields() {
		name, _, _ := jsonName(s, i)
		if name != "metadata" && name != "status" && name != "" {
			w.value(s.Field(i).Type(), "."+name, false) // an object without spec is not worth a rule
		}
	}
	slices.SortStableFunc(w.found, func(a, b Change) int { return int(a.Kind) - int(b.Kind) })
	return w.found
}

type walker struct {
	markers func(*types.Var) Markers
	within  []*types.Named // the named structs around the current field, to end at recursive types
	found   []Change
}

func (w *walker) add(path, why string, kind Kind) {
	w.found = append(w.found, Change{Path: path, Why: why, Kind: kind})
}

// field visits one struct field. The struct that has the field may be absent from the object if absent is set.
func (w *walker) field(f *types.Var, path string, opts options, absent bool) {
	marks := w.markers(f)
	t := types.Unalias(f.Type())
	if zero := zeroOf(t); zero != "" {
		switch {
		case !opts.omit && (absent || marks.Optional):
			w.add(path, "absent becomes "+zero, Added)
		case opts.omit && marks.Default:
			w.add(path, zero+" becomes the default", Defaulted)
		}
	}
	if _, ok := t.Underlying().(*types.Struct); ok {
		w.value(t, path, !opts.omitzero && (absent || opts.omitempty || marks.Optional))
		return
	}
	w.value(t, path, false)
}

// known are the types whose encoding differs from what they decode.
var known = []struct{ pkg, name, why string }{
	{"k8s.io/apimachinery/pkg/api/resource", "Quantity", `"1000m" becomes "1"`},
	{kube.MetaV1, "Duration", `"60m" becomes "1h0m0s"`},
	{kube.MetaV1, "Time", `"2026-01-01T02:00:00+02:00" becomes "2026-01-01T00:00:00Z"`},
	{kube.MetaV1, "MicroTime", `"2026-01-01T02:00:00.000000+02:00" becomes "2026-01-01T00:00:00.000000Z"`},
}

// value visits a value of a type that stands at a path.
func (w *walker) value(t types.Type, path string, absent bool) {
	t = types.Unalias(t)
	if n, ok := t.(*types.Named); ok {
		for _, k := range known {
			if kube.IsNamed(n, k.pkg, k.name) {
				w.add(path, k.why, Respelled)
				return
			}
		}
		if marshals(n) || slices.Contains(w.within, n) {
			return
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		w.value(u.Elem(), path, false)
	case interface{ Elem() types.Type }: // a slice, an array or a map
		w.value(u.Elem(), path+"[*]", false)
	case *types.Struct:
		if n, ok := t.(*types.Named); ok {
			w.within = append(w.within, n)
			defer func() { w.within = w.within[:len(w.within)-1] }()
		}
		w.fields(u, path, absent)
	}
}

func (w *walker) fields(s *types.Struct, path string, absent bool) {
	for i := range s.NumFields() {
		name, opts, ok := jsonName(s, i)
		switch {
		case !ok:
		case name == "":
			w.value(s.Field(i).Type(), path, absent) // an embedded struct: its fields are fields of the parent
		default:
			w.field(s.Field(i), path+"."+name, opts, absent)
		}
	}
}

type options struct{ omit, omitempty, omitzero bool }

// jsonName returns the name under which encoding/json writes a field, "" for an embedded struct, and false for a field
// that is not written.
func jsonName(s *types.Struct, i int) (string, options, bool) {
	f := s.Field(i)
	name, rest, _ := strings.Cut(reflect.StructTag(s.Tag(i)).Get("json"), ",")
	list := strings.Split(rest, ",")
	opts := options{omitempty: slices.Contains(list, "omitempty"), omitzero: slices.Contains(list, "omitzero")}
	opts.omit = opts.omitempty || opts.omitzero
	if name == "-" && rest == "" {
		return "", opts, false
	}
	if name == "" && f.Embedded() {
		if n := kube.Named(f.Type()); n != nil {
			if _, ok := n.Underlying().(*types.Struct); ok {
				return "", opts, true
			}
		}
	}
	if !f.Exported() {
		return "", opts, false
	}
	if name == "" {
		name = f.Name()
	}
	return name, opts, true
}

// zeroOf returns how encoding/json writes the zero value of a scalar type, "" for other types.
func zeroOf(t types.Type) string {
	b, ok := t.Underlying().(*types.Basic)
	switch {
	case !ok || marshals(t):
		return ""
	case b.Info()&types.IsString != 0:
		return `""`
	case b.Info()&types.IsBoolean != 0:
		return "false"
	case b.Info()&types.IsNumeric != 0:
		return "0"
	}
	return ""
}

// marshals reports whether a type has an encoding of its own.
func marshals(t types.Type) bool {
	return kube.HasMethod(t, nil, "MarshalJSON") || kube.HasMethod(t, nil, "MarshalText")
}

// Summary names the first three changes and how many more there are.
func Summary(changes []Change) string {
	var parts []string
	for _, c := range changes[:min(3, len(changes))] {
		parts = append(parts, fmt.Sprintf("%s (%s)", c.Path, c.Why))
	}
	text := strings.Join(parts, ", ")
	if more := len(changes) - 3; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
