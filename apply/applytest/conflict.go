package applytest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// OwnershipConflict is the 409 that names a manager that owns fields with other values:
// apply.ErrConflict, or what the policy makes of it. Only an apply that is not forced, sets all
// of the paths, and is by another manager gets this answer. An empty operation is Apply. The
// paths are in the notation of fieldowners.ParsePath.
//
// An Applier reads the object to find the other's value, so the wrapped client should have the
// object with that manager in its managed fields; without it, the Conflict has no Path, only a
// ServerPath.
func OwnershipConflict(manager fieldowners.Manager, paths ...string) Answer {
	var fields []string
	var parsed []fieldowners.Path
	var errs []error
	for _, text := range paths {
		path, err := fieldowners.ParsePath(text)
		if err == nil && path.IsRoot() {
			err = errors.New("an empty path")
		}
		errs = append(errs, err)
		fields, parsed = append(fields, path.ServerString()), append(parsed, path)
	}
	if len(paths) == 0 {
		errs = append(errs, errors.New("a path is needed, such as .spec.replicas"))
	}
	errs = append(errs, validManager(manager))
	give := func(context.Context, call) error { return conflict(describeManager(manager), fields) }
	unfit := func(made call) error { return withoutConflict(made, manager, parsed) }
	answer := Answer{name: "OwnershipConflict", only: []Verb{VerbApply}, unforced: true, give: give, unfit: unfit}
	if err := errors.Join(errs...); err != nil {
		answer.invalid = fmt.Errorf("OwnershipConflict: %w", err)
	}
	return answer
}

// withoutConflict returns an error for an apply that cannot conflict with the manager over
// these paths.
func withoutConflict(made call, manager fieldowners.Manager, paths []fieldowners.Path) error {
	if made.body == nil {
		return nil
	}
	if manager.Operation != metav1.ManagedFieldsOperationUpdate && manager.Name == made.manager && manager.Subresource == made.Subresource {
		return fmt.Errorf("it is an apply by %q, which does not conflict with what %[1]q applied before", made.manager)
	}
	for _, path := range paths {
		if _, sets := path.Value(made.body); !sets {
			return fmt.Errorf("it does not set %v", path)
		}
	}
	return nil
}

func validManager(m fieldowners.Manager) error {
	switch {
	case m.Name == "":
		return errors.New("the manager has no name")
	case m.Operation == metav1.ManagedFieldsOperationUpdate && m.APIVersion == "":
		return fmt.Errorf("manager %s: one that updates is named with its APIVersion", m.Name)
	case m.Operation != "" && m.Operation != metav1.ManagedFieldsOperationApply && m.Operation != metav1.ManagedFieldsOperationUpdate:
		return fmt.Errorf("manager %s: operation %q is neither Apply nor Update", m.Name, m.Operation)
	}
	return nil
}

// conflict returns the error that
// k8s.io/apimachinery/pkg/util/managedfields/internal/conflict.go makes of one manager's
// fields.
func conflict(manager string, fields []string) error {
	var causes []metav1.StatusCause
	for _, field := range fields {
		causes = append(causes, metav1.StatusCause{
			Type: metav1.CauseTypeFieldManagerConflict, Message: "conflict with " + manager, Field: field,
		})
	}
	message := fmt.Sprintf("Apply failed with 1 conflict: conflict with %s: %s", manager, fields[0])
	if len(fields) > 1 {
		message = fmt.Sprintf("Apply failed with %d conflicts: conflicts with %s:\n- %s",
			len(fields), manager, strings.Join(fields, "\n- "))
	}
	return apierrors.NewApplyConflict(causes, message)
}

// describeManager returns the manager as the server writes it, without the time.
func describeManager(m fieldowners.Manager) string {
	text := fmt.Sprintf("%q", m.Name)
	if m.Subresource != "" {
		text += fmt.Sprintf(" with subresource %q", m.Subresource)
	}
	if m.Operation == metav1.ManagedFieldsOperationUpdate {
		text += " using " + m.APIVersion
	}
	return text
}
