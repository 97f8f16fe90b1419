package fieldowners

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Manager identifies one managed fields entry: the field manager, its operation and subresource, and the apiVersion
// and time of the entry.
type Manager struct {
	Name        string                            `json:"name"`
	Operation   metav1.ManagedFieldsOperationType `json:"operation"`             // Apply or Update
	Subresource string                            `json:"subresource,omitempty"` // "" means the object itself
	APIVersion  string                            `json:"apiVersion"`            // the version in which the entry names its fields
	Time        time.Time                         `json:"time,omitzero"`         // when the entry last changed; zero if not recorded
}

// String returns the name and the operation, followed by the subresource in brackets if there is one:
// "hpa/Update[scale]".
func (m Manager) String() string {
	s := m.Name + "/" + string(m.Operation)
	if m.Subresource != "" {
		s += "[" + m.Subresource + "]"
	}
	return s
}

// sameEntry reports whether m and other identify the same managed fields entry. The time of the entry does not matter.
func (m Manager) sameEntry(other Manager) bool { return m.Compare(other) == 0 }

// writer returns the manager without apiVersion and time, for use as a map key.
func (m Manager) writer() Manager {
	return Manager{Name: m.Name, Operation: m.Operation, Subresource: m.Subresource}
}

// SameWriter reports whether m and other have the same name, operation and subresource.
func (m Manager) SameWriter(other Manager) bool { return m.writer() == other.writer() }

// Compare orders managers by name, operation, subresource and apiVersion. It returns -1, 0 or 1, like strings.Compare.
func (m Manager) Compare(other Manager) int {
	return cmp.Or(
		strings.Compare(m.Name, other.Name), cmp.Compare(m.Operation, other.Operation),
		strings.Compare(m.Subresource, other.Subresource), strings.Compare(m.APIVersion, other.APIVersion),
	)
}

// WritesAround reports whether the manager wrote the field at path through a subresource such as /scale, although a write
// to the object itself can set the field as well. It is false for the subresource status, and for fields of the status.
func (m Manager) WritesAround(path Path) bool {
	return m.Subresource != "" && m.Subresource != "status" && !path.HasPrefix(StatusPath)
}

// ParseCause returns the manager that owns the field of a conflict. It parses the message of a status cause of type
// FieldManagerConflict, because no other part of the API server's response names the manager:
//
//	conflict with "NAME"[ with subresource "SUB"][ using APIVERSION][ at TIME]
//
// The parts "using" and "at" are present only for a manager that owns the field by Update
// (k8s.io/apimachinery/pkg/util/managedfields/internal/conflict.go). An API server of version 1.37 leaves out the time:
// read the time from the manager's managed fields entry. Text that a later API server may append is ignored.
func ParseCause(message string) (Manager, error) {
	rest, ok := strings.CutPrefix(message, "conflict with ")
	if !ok {
		return Manager{}, fmt.Errorf("conflict cause %q names no manager", message)
	}
	name, rest, err := cutQuoted(rest)
	manager := Manager{Name: name, Operation: metav1.ManagedFieldsOperationApply}
	if after, ok := strings.CutPrefix(rest, " with subresource "); ok {
		manager.Subresource, rest, err = cutQuoted(after)
	}
	if err != nil {
		return Manager{}, fmt.Errorf("conflict cause %q: %w", message, err)
	}
	if after, ok := strings.CutPrefix(rest, " using "); ok {
		manager.Operation = metav1.ManagedFieldsOperationUpdate
		manager.APIVersion, rest, _ = strings.Cut(after, " ")
		if at, ok := strings.CutPrefix(rest, "at "); ok {
			// A malformed time is ignored, because the manager's entry has the time as well.
			manager.Time, _ = time.Parse(time.RFC3339, at)
		}
	}
	return manager, nil
}

func cutQuoted(s string) (unquoted, rest string, err error) {
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil || quoted[0] != '"' {
		return "", "", errors.New("a quoted name is expected")
	}
	unquoted, _ = strconv.Unquote(quoted) // QuotedPrefix returns what can be unquoted
	return unquoted, s[len(quoted):], nil
}

// Well-known field managers. A policy may name them.
const (
	// BeforeFirstApply is the field manager that the API server invents at the first apply to an object without managed
	// fields. BeforeFirstApply then owns, by Update, all fields of the object.
	BeforeFirstApply = "before-first-apply"
	// AncientChanges is the field manager to which the API server assigns the oldest Update entries if there are more
	// than ten.
	AncientChanges = "ancient-changes"
	// ClientSideApply is the field manager of kubectl apply without --server-side.
	ClientSideApply = "kubectl-client-side-apply"
)

// Paths of fields that an object of any kind may have and that an apply configuration usually does not list.
var (
	// LastAppliedPath is the annotation in which client-side kubectl apply stores the applied configuration, including
	// the values of a Secret.
	LastAppliedPath = MustParsePath(`.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`)
	// FinalizersPath is metadata.finalizers, a set.
	FinalizersPath = MustParsePath(".metadata.finalizers")
	// StatusPath is the status. In most kinds it can be written only through the status subresource.
	StatusPath = MustParsePath(".status")
)

// serverKept has the paths of all fields that never have an owner, except for metadata.managedFields. The API server
// sets the two deletion fields itself, and strips the other fields from every managed fields entry
// (k8s.io/apimachinery/pkg/util/managedfields/internal/stripmeta.go).
var serverKept = map[string]bool{
	".apiVersion": true, ".kind": true,
	".metadata.name": true, ".metadata.namespace": true, ".metadata.uid": true, ".metadata.resourceVersion": true,
	".metadata.generation": true, ".metadata.creationTimestamp": true, ".metadata.selfLink": true,
	".metadata.deletionTimestamp": true, ".metadata.deletionGracePeriodSeconds": true,
}

// isServerKept reports whether the API server maintains the field itself and records no owner.
func (p Path) isServerKept() bool { return len(p.elements) <= 2 && serverKept[p.String()] }

// Hidden is the value that replaces a secret value wherever values are shown.
const Hidden = hiddenValue("(hidden)")

// hiddenValue is the type of Hidden. No value of an object has this type.
type hiddenValue string

// Hide returns Hidden for any value except nil. For nil, which is no secret, it returns nil.
func Hide(v any) any {
	if v == nil {
		return nil
	}
	return Hidden
}

// IsSecret reports whether the group and kind are those of the core kind Secret.
func IsSecret(group, kind string) bool { return group == "" && kind == "Secret" }

// secrets are the fields of a Secret whose values are secret.
var secrets = []Path{MustParsePath(".data"), MustParsePath(".stringData"), LastAppliedPath}

// HoldsSecret reports whether, in a Secret, the value at the path is secret, contains a secret value, or is part of one.
func (p Path) HoldsSecret() bool {
	return slices.ContainsFunc(secrets, func(s Path) bool { return p.HasPrefix(s) || s.HasPrefix(p) })
}
