package fieldowners

import (
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
