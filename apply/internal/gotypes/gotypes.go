// Package gotypes inspects the Go types of kinds. It finds fields by name or path, and reports whether the API server
// itself uses a Go type.
package gotypes

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/fieldowners"
)

// serverGroups are the API groups whose kinds are compiled into the API server. The API server decodes and encodes
// these kinds with the Go types in serverPackages. The package of a Go type is not sufficient to recognise such a kind:
// VerticalPodAutoscaler is a custom resource, although the package of its Go type is under k8s.io/.
var serverGroups = []string{
	"", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps", "authentication.k8s.io",
	"authorization.k8s.io", "autoscaling", "batch", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io",
	"events.k8s.io", "flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "lifecycle.k8s.io", "networking.k8s.io",
	"node.k8s.io", "policy", "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io",
	"storagemigration.k8s.io",
}

var serverPackages = []string{"k8s.io/api/", "k8s.io/apiextensions-apiserver/pkg/apis/", "k8s.io/kube-aggregator/pkg/apis/"}

// IsServersOwn reports whether the API server itself uses goType to decode and encode objects of the kind.
func IsServersOwn(kind schema.GroupVersionKind, goType reflect.Type) bool {
	return IsServersOwnGroup(kind.Group) && slices.ContainsFunc(serverPackages, func(prefix string) bool {
		return strings.HasPrefix(goType.PkgPath(), prefix)
	})
}

// IsServersOwnGroup reports whether the kinds of an API group are compiled into the API server, and so are not custom
// resources.
func IsServersOwnGroup(group string) bool { return slices.Contains(serverGroups, group) }

// FieldType returns the type of a struct's field by its JSON name. The field may be in an embedded struct. For a map,
// FieldType returns the type of the values. It returns nil if there is no such field. t may be nil or a pointer type.
func FieldType(t reflect.Type, name string) reflect.Type {
	t = PointedAt(t)
	switch {
	case t != nil && t.Kind() == reflect.Map:
		return t.Elem()
	case t == nil || t.Kind() != reflect.Struct:
		return nil
	}
	for field := range t.Fields() {
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag == name {
			return field.Type
		}
		if tag == "" && field.Anonymous && PointedAt(field.Type).Kind() == reflect.Struct {
			if found := FieldType(field.Type, name); found != nil {
				return found
			}
		}
	}
	return nil
}

// ItemType returns the type of the items of a slice type. It returns nil for other types, and for a slice of bytes. t may
// be nil or a pointer type.
func ItemType(t reflect.Type) reflect.Type {
	if t = PointedAt(t); t != nil && t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
		return t.Elem()
	}
	return nil
}

// HasOwnForm reports whether a Go type has its own UnmarshalJSON or UnmarshalText method. Decoding and encoding a value
// of such a type may change its text. For example, resource.Quantity changes 1024Mi to 1Gi.
func HasOwnForm(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return pointer.Implements(reflect.TypeFor[json.Unmarshaler]()) || pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// PointedAt returns the type to which a pointer type points, through any number of pointers. Other types, and nil, are
// returned unchanged.
func PointedAt(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// IsBytes reports whether the given Go type has a []byte field at the given path. In the API server's schema, such a
// field has the format "byte".
func IsBytes(of reflect.Type, path fieldowners.Path) bool {
	for _, element := range path.Elements() {
		if of == nil {
			return false
		}
		of, _ = below(of, element) // nil if there is no such field
	}
	return of == reflect.TypeFor[[]byte]()
}

// HasPath returns nil if at least one of the Go types has the field at the path. Otherwise it returns the error for the
// last type.
func HasPath(path fieldowners.Path, types []reflect.Type) (err error) {
	for _, t := range types {
		if err = exists(path.Elements(), t); err == nil {
			return nil
		}
	}
	return err
}

// exists returns an error if a Go type does not have the field at a path.
func exists(path []fieldowners.Element, t reflect.Type) error {
	for _, element := range path {
		t = PointedAt(t)
		if t.Kind() == reflect.Interface || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) {
			return nil // the Go type does not show which fields an interface, or a type with its own MarshalJSON, has
		}
		var err error
		if t, err = below(t, element); err != nil {
			return err
		}
	}
	return nil
}

// below returns the type of the field or list item of t that the path element identifies.
func below(t reflect.Type, element fieldowners.Element) (reflect.Type, error) {
	if element.Field != nil {
		if found := FieldType(t, *element.Field); found != nil {
			return found, nil
		}
		return nil, fmt.Errorf("%s has no field %q", typeName(t), *element.Field)
	}
	item := ItemType(t)
	if item == nil {
		return nil, fmt.Errorf("%s is not a list", typeName(t))
	}
	for _, key := range element.Keys {
		if err := exists([]fieldowners.Element{{Field: &key}}, item); err != nil {
			return nil, err
		}
	}
	return item, nil
}

// typeName returns the name of a Go type for messages, without the suffix ApplyConfiguration.
func typeName(t reflect.Type) string {
	return strings.TrimSuffix(strings.TrimPrefix(t.String(), "*"), "ApplyConfiguration")
}
