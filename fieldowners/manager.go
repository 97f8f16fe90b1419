package fieldowners

import (
	"errors"
	"fmt"
	"slices"
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

// sameEntry reports whether both identify the same entry of managed fields: they are equal
// except for the time.
func (m Manager) sameEntry(other Manager) bool {
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

// Well-known field managers. A policy may name them.
const (
	// BeforeFirstApply is the field manager that the API server makes up at an apply to an
	// object without managed fields, because they were wiped or because the object is older
	// than Server-Side Apply: it then owns, by Update, everything in the object, whoever wrote
	// that.
	BeforeFirstApply = "before-first-apply"
	// AncientChanges is the field manager to which the API server assigns the oldest entries if
	// more than ten managers wrote by Update.
	AncientChanges = "ancient-changes"
	// ClientSideApply is the field manager of kubectl apply without --server-side.
	ClientSideApply = "kubectl-client-side-apply"
)

// Fields of every kind that an apply configuration usually does not list.
var (
	// LastAppliedPath is the annotation in which client-side kubectl apply records what it
	// applied, including the values of a Secret.
	LastAppliedPath = MustParsePath(`.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`)
	// FinalizersPath is the set of finalizers.
	FinalizersPath = MustParsePath(".metadata.finalizers")
	// StatusPath is the status, which in most kinds is written only through its subresource.
	StatusPath = MustParsePath(".status")
)

// serverKept are the fields without an owner, by their paths: the fields of metadata that the
// API server strips from every set of managed fields
// (k8s.io/apimachinery/pkg/util/managedfields/internal/stripmeta.go), and the two that mark a
// deletion, which no manager's write sets; managedFields aside.
var serverKept = map[string]bool{
	".apiVersion": true, ".kind": true,
	".metadata.name": true, ".metadata.namespace": true, ".metadata.uid": true, ".metadata.resourceVersion": true,
	".metadata.generation": true, ".metadata.creationTimestamp": true, ".metadata.selfLink": true,
	".metadata.deletionTimestamp": true, ".metadata.deletionGracePeriodSeconds": true,
}

// isServerKept reports whether the API server maintains the field itself and records no owner:
// apiVersion, kind, the name, the uid and the like.
func (p Path) isServerKept() bool { return len(p.elements) <= 2 && serverKept[p.String()] }

// Hidden stands for a value that must not be shown.
const Hidden = hiddenValue("(hidden)")

// hiddenValue is the type of Hidden. No value of an object has this type.
type hiddenValue string

// Hide returns Hidden in place of a value, and nil for nil: that there is no value may be
// shown.
func Hide(v any) any {
	if v == nil {
		return nil
	}
	return Hidden
}

// IsSecret reports whether a kind is that of Secrets.
func IsSecret(group, kind string) bool { return group == "" && kind == "Secret" }

// secrets are the fields of a Secret with secret values.
var secrets = []Path{MustParsePath(".data"), MustParsePath(".stringData"), LastAppliedPath}

// HoldsSecret reports whether the value of a Secret at the path must not be shown: it is a
// secret value, part of one, or has one below it.
func (p Path) HoldsSecret() bool {
	return slices.ContainsFunc(secrets, func(s Path) bool { return p.HasPrefix(s) || s.HasPrefix(p) })
}
