package owneraudit

import (
	"strings"
	"time"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/internal/command"
)

// Report is what an audit found, and what -o json and -o yaml print. It is stable:
// fields may be added, none is renamed, removed or given another meaning. Lists are
// never null, and their order is stable.
type Report struct {
	// Complete reports whether everything asked for was read. If not, Problems says what is
	// missing, and all counts are those of the rest.
	Complete bool `json:"complete"`
	Objects  int  `json:"objects"`
	Bytes    int  `json:"bytes"` // of managedFields, as JSON
	// ManagedFieldsAbsent counts objects without managed fields, whose owners are not known.
	ManagedFieldsAbsent int        `json:"managedFieldsAbsent"`
	AbsentExamples      []view.Ref `json:"absentExamples"` // the first MaxExamples of them

	Managers []ManagerRow `json:"managers"` // those with most objects first
	Findings []Finding    `json:"findings"` // in the order of rules, then of objects

	Lists        []List   `json:"lists"`        // what was read of a cluster
	Problems     []string `json:"problems"`     // the first of them
	ProblemCount int      `json:"problemCount"` // all of them
	LeftOut      LeftOut  `json:"leftOut"`
}

// Manager identifies a field manager in the report, without the apiVersions of its entries.
type Manager = view.OwnerItem

// ManagerRow is one manager on all objects.
type ManagerRow struct {
	Manager

	Objects     int        `json:"objects"`
	Fields      int        `json:"fields"`    // those without fields of its own below them
	Shared      int        `json:"shared"`    // of these, owned by other managers as well
	Bytes       int        `json:"bytes"`     // of its entries
	LastWrite   *time.Time `json:"lastWrite"` // null: not recorded
	Kinds       []Kind     `json:"kinds"`
	APIVersions []string   `json:"apiVersions"` // of its entries
}

// Kind is a kind of objects, with the number of objects.
type Kind struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Objects    int    `json:"objects"`
}

// Finding is a finding of one rule of lint.Check, or of a contract, about one manager, with one
// remedy. TYPE/NAME in the remedy stands for the object.
type Finding struct {
	Rule     string    `json:"rule"`
	Manager  *Manager  `json:"manager"` // null: it is about the objects
	Objects  int       `json:"objects"`
	Examples []Example `json:"examples"` // the first MaxExamples objects
	Remedy   string    `json:"remedy"`
	Contract bool      `json:"contract,omitempty"` // the contract says so, not Lint
}

// ToDo returns the remedy, with the object's name if the finding is about one object.
func (f Finding) ToDo() string {
	if f.Objects != 1 || len(f.Examples) != 1 {
		return f.Remedy
	}
	return strings.Replace(f.Remedy, command.Placeholder, f.Examples[0].Target(), 1)
}

// Example is one object of a finding, and what was found there.
type Example struct {
	view.Ref

	Message string `json:"message"`
}

// List is one kind that was read.
type List struct {
	Resource  string `json:"resource"`
	Namespace string `json:"namespace"` // "" is all
	Objects   int    `json:"objects"`
	// Snapshot reports whether the list shows one moment. It does not if reading took longer
	// than the server keeps old versions.
	Snapshot bool `json:"snapshot"`
	// Error says why it was not read to its end; what was read until then counts.
	Error string `json:"error,omitempty"`
}

// LeftOut counts what was left out because there is too much of it.
type LeftOut struct {
	Managers int `json:"managers"` // entries of managers beyond the first MaxManagers
	Findings int `json:"findings"` // of rules and managers beyond the first MaxFindings
}

// Limits of a report, so that it does not grow with the number of objects.
const (
	MaxExamples = 5
	MaxProblems = 20
	MaxManagers = 10_000
	MaxFindings = 5_000
	maxKinds    = 200 // and API versions, of one manager
)
