package show

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"

	"coapply.dev/fieldowners"
	"coapply.dev/internal/nearest"
)

// checkPath returns an error if the objects of a kind cannot have a field, with the name that may
// be meant. It returns nil if the schemas do not tell.
func checkPath(of managedfields.TypeConverter, kind schema.GroupVersionKind, path fieldowners.Path) error {
	empty := &unstructured.Unstructured{}
	empty.SetGroupVersionKind(kind)
	typed, err := of.ObjectToTyped(empty)
	if err != nil {
		return nil //nolint:nilerr // they do not have the kind
	}
	at, parent := typed.TypeRef(), ""
	for _, step := range path.Elements() {
		atom, known := typed.Schema().Resolve(at)
		if !known {
			return nil
		}
		next, why := below(atom, step, parent)
		if why != "" {
			return fmt.Errorf("%s has no field %s%s%s", kind.Kind, parent, step.Text, why)
		}
		at, parent = next, parent+step.Text
	}
	return nil
}

// below returns the type to which a step leads, or else the rest of the message that there is no
// such field.
func below(parent smd.Atom, step fieldowners.Element, path string) (at smd.TypeRef, why string) {
	switch {
	case step.Field == nil && parent.List != nil:
		return parent.List.ElementType, ""
	case step.Field != nil && parent.Map != nil:
		return fieldOf(parent.Map, *step.Field, path)
	case step.Field != nil && parent.List != nil:
		return at, fmt.Sprintf(": %s is a list, name an item of it: '%[1]s[0]%s'", path, step.Text)
	}
	return at, fmt.Sprintf(": nothing lies below %s", path)
}

func fieldOf(parent *smd.Map, name, path string) (at smd.TypeRef, why string) {
	if field, has := parent.FindField(name); has {
		return field.Type, ""
	}
	if parent.ElementType != (smd.TypeRef{}) { // it takes any name
		return parent.ElementType, ""
	}
	names := make([]string, len(parent.Fields))
	for i, field := range parent.Fields {
		names[i] = field.Name
	}
	if near := nearest.Names(name, names); len(near) > 0 {
		return at, fmt.Sprintf(" (did you mean %s.%s?)", path, near[0])
	}
	return at, "; kubectl explain lists the fields of a kind"
}
