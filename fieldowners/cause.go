package fieldowners

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ParseCause reads the message of a cause of type FieldManagerConflict, the only
// place where the API server names the other manager:
//
//	conflict with "NAME"[ with subresource "SUB"][ using APIVERSION][ at TIME]
//
// Only Update managers have "using" and "at"
// (k8s.io/apimachinery/pkg/util/managedfields/internal/conflict.go); a server of 1.37 leaves
// the time out: take it from the manager's entry. Text that later servers may add is ignored.
func ParseCause(message string) (Manager, error) {
	rest, ok := strings.CutPrefix(message, "conflict with ")
	if !ok {
		return Manager{}, fmt.Errorf("conflict cause %q names no manager", message)
	}
	manager := Manager{Operation: metav1.ManagedFieldsOperationApply}
	var err error
	if manager.Name, rest, err = cutQuoted(rest); err != nil {
		return Manager{}, fmt.Errorf("conflict cause %q: %w", message, err)
	}
	if after, ok := strings.CutPrefix(rest, " with subresource "); ok {
		if manager.Subresource, rest, err = cutQuoted(after); err != nil {
			return Manager{}, fmt.Errorf("conflict cause %q: %w", message, err)
		}
	}
	if after, ok := strings.CutPrefix(rest, " using "); ok {
		manager.Operation = metav1.ManagedFieldsOperationUpdate
		manager.APIVersion, rest, _ = strings.Cut(after, " ")
		if at, ok := strings.CutPrefix(rest, "at "); ok {
			// A time that does not parse is left out: the entry has it as well.
			manager.Time, _ = time.Parse(time.RFC3339, at)
		}
	}
	return manager, nil
}

func cutQuoted(s string) (unquoted, rest string, err error) {
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil || quoted[0] != '"' {
		return "", "", errors.New("a quoted name expected")
	}
	unquoted, _ = strconv.Unquote(quoted) // QuotedPrefix returns what can be unquoted
	return unquoted, s[len(quoted):], nil
}
