package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// checkPaths refuses rules whose path none of the kinds has. The schema is that of
// the Go types of their apply configurations.
func checkPaths(rules []rule, kinds []runtime.ApplyConfiguration) error {
	var types []reflect.Type
	for _, kind := range kinds {
		t := reflect.TypeOf(kind)
		if _, untyped := kind.(wire.Unstructured); untyped || t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
			return fmt.Errorf("policy: %T is no typed apply configuration, so it has no schema to check paths by", kind)
		}
		types = append(types, t)
	}
	var errs []error
	for _, r := range rules {
		if err := existsInOne(r.path, types); err != nil {
			errs = append(errs, fmt.Errorf("policy: %s cannot exist: %w", r.path, err))
		}
	}
	return errors.Join(errs...)
}

func existsInOne(path fieldowners.Path, types []reflect.Type) error {
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
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if marshalsItself(t) || t.Kind() == reflect.Interface {
			return nil // whatever is below, Go does not say
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
	return t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler)
}

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
		if found, ok := fieldByJSON(t, *element.Field); ok {
			return found, nil
		}
	}
	return nil, fmt.Errorf("%s has no field %q", typeName(t), *element.Field)
}

// fieldByJSON finds the type of a field by the name that it has in JSON.
func fieldByJSON(t reflect.Type, name string) (reflect.Type, bool) {
	for field := range t.Fields() {
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag == name {
			return field.Type, true
		}
		if field.Anonymous && tag == "" {
			embedded := field.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			if found, ok := fieldByJSON(embedded, name); ok {
				return found, true
			}
		}
	}
	return nil, false
}

// typeName gives a type as its kind is called.
func typeName(t reflect.Type) string {
	return strings.TrimSuffix(strings.TrimPrefix(t.String(), "*"), "ApplyConfiguration")
}
