package apply

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"

	"coapply.dev/apply/internal/gotypes"
	"coapply.dev/apply/internal/wire"
)

// checkPaths returns an error for rules whose path none of the kinds has, by the Go types of
// their apply configurations.
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
		if err := gotypes.HasPath(r.path, types); err != nil {
			errs = append(errs, fmt.Errorf("policy: %s cannot exist: %w", r.path, err))
		}
	}
	return errors.Join(errs...)
}

// CheckPaths returns an error for each rule whose path exists in none of the given Go types.
// CheckPaths skips a policy that is restricted to kinds by For: New checks such a policy against
// these kinds.
func (p Policy) CheckPaths(kinds ...reflect.Type) error {
	if len(p.kinds) > 0 {
		return nil
	}
	var errs []error
	for _, r := range p.rules {
		if gotypes.HasPath(r.path, kinds) != nil {
			errs = append(errs, fmt.Errorf("policy: none of %d kinds has the field %s", len(kinds), r.path))
		}
	}
	return errors.Join(errs...)
}
