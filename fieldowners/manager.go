package fieldowners

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Manager is the identity of a managed fields entry.
type Manager struct {
	Name        string                            `json:"name"`
	Operation   metav1.ManagedFieldsOperationType `json:"operation"`             // Apply or Update
	Subresource string                            `json:"subresource,omitempty"` // "" is the object itself
	APIVersion  string                            `json:"apiVersion"`            // the version its fields are named in
	Time        time.Time                         `json:"time,omitzero"`         // of the entry's last change; zero when not recorded
}

// String returns the manager as reports show it: name/operation, then
// [subresource] if any.
func (m Manager) String() string {
	s := m.Name + "/" + string(m.Operation)
	if m.Subresource != "" {
		s += "[" + m.Subresource + "]"
	}
	return s
}

// SameEntry reports whether both identify the same entry of managed fields: they are equal
// except for the time.
func (m Manager) SameEntry(other Manager) bool {
	return m.Name == other.Name && m.Operation == other.Operation &&
		m.Subresource == other.Subresource && m.APIVersion == other.APIVersion
}

// writer returns the manager without apiVersion and time, for comparing and as a key.
func (m Manager) writer() Manager {
	return Manager{Name: m.Name, Operation: m.Operation, Subresource: m.Subresource}
}

// SameWriter reports whether both are the same manager, in any apiVersion and at any time.
func (m Manager) SameWriter(other Manager) bool { return m.writer() == other.writer() }

// Compare orders managers by name, operation, subresource and apiVersion.
func (m Manager) Compare(other Manager) int {
	for _, c := range []int{
		strings.Compare(m.Name, other.Name),
		strings.Compare(string(m.Operation), string(other.Operation)),
		strings.Compare(m.Subresource, other.Subresource),
		strings.Compare(m.APIVersion, other.APIVersion),
	} {
		if c != 0 {
			return c
		}
	}
	return 0
}

// WritesAround reports whether the manager writes a field outside of the status through another
// subresource than status, such as scale: an apply of the object sets the field as well.
func (m Manager) WritesAround(path Path) bool {
	return m.Subresource != "" && m.Subresource != "status" && !path.HasPrefix(StatusPath)
}

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
