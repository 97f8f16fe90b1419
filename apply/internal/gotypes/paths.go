package gotypes

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"coapply.dev/fieldowners"
)

// IsBytes reports whether a field is []byte in the Go type of its object (format: byte in the
// API server's schema).
func IsBytes(of reflect.Type, path fieldowners.Path) bool {
	for _, element := range path.Elements() {
		if of == nil {
			return false
		}
		of, _ = below(PointedAt(of), element) // nil if there is none
	}
	return of == reflect.TypeFor[[]byte]()
}

// HasPath returns nil if one of the types has a field, and otherwise why none has it.
func HasPath(path fieldowners.Path, types []reflect.Type) error {
	var errs []error
	for _, t := range types {
		err := exists(path.Elements(), t)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// exists walks a path down a Go type.
func exists(path []fieldowners.Element, t reflect.Type) error {
	for _, element := range path {
		if t = PointedAt(t); marshalsItself(t) || t.Kind() == reflect.Interface {
			return nil // the Go type does not say what is below
		}
		var err error
		if t, err = below(t, element); err != nil {
			return err
		}
	}
	return nil
}

var marshaler = reflect.TypeFor[json.Marshaler]()

func marshalsItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(marshaler)
}

// below returns the type of the field or item that an element names, in a type that is no
// pointer.
func below(t reflect.Type, element fieldowners.Element) (reflect.Type, error) {
	isList := t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8
	switch {
	case element.Field == nil && !isList:
		return nil, fmt.Errorf("%s is no list", typeName(t))
	case element.Field == nil:
		for _, key := range element.Keys {
			if err := exists([]fieldowners.Element{{Field: &key}}, t.Elem()); err != nil {
				return nil, err
			}
		}
		return t.Elem(), nil
	case t.Kind() == reflect.Map:
		return t.Elem(), nil
	case t.Kind() == reflect.Struct:
		if found := FieldType(t, *element.Field); found != nil {
			return found, nil
		}
	}
	return nil, fmt.Errorf("%s has no field %q", typeName(t), *element.Field)
}

// typeName returns the name of the kind of a type.
func typeName(t reflect.Type) string {
	return strings.TrimSuffix(strings.TrimPrefix(t.String(), "*"), "ApplyConfiguration")
}
