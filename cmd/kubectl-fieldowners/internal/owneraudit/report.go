package owneraudit

import (
	"strings"
	"time"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/internal/command"
)

// Report is the result of an audit, which -o json and -o yaml print. The format is stable: fields may be added, but
// no field is renamed, removed or given another meaning. Lists are never null, and their order is stable.
type Report struct {
	// Complete reports whether all requested objects were read. If not, Problems lists the errors, and the counts
	// include only the objects that were read.
	Complete            bool       `json:"complete"`
	Objects             int        `json:"objects"`
	Bytes               int        `json:"bytes"`               // the size of all managedFields in JSON
	ManagedFieldsAbsent int        `json:"managedFieldsAbsent"` // the number of objects without managed fields
	AbsentExamples      []view.Ref `json:"absentExamples"`      // the first MaxExamples objects without managed fields

	Managers []ManagerRow `json:"managers"` // the managers with the most objects are first
	Findings []Finding    `json:"findings"` // sorted by rule, then by the number of objects

	Lists        []List   `json:"lists"`        // the lists that were read from a cluster
	Problems     []string `json:"problems"`     // the first MaxProblems problems
	ProblemCount int      `json:"problemCount"` // the number of all problems
	LeftOut      LeftOut  `json:"leftOut"`      // the numbers of entries and findings that exceed the report's limits
}

// Manager identifies a field manager in the report, without the apiVersions of its entries.
type Manager = view.OwnerItem

// ManagerRow is the summary of one manager over all objects.
type ManagerRow struct {
	Manager

	Objects     int        `json:"objects"`
	Fields      int        `json:"fields"`      // the number of leaf fields: the manager owns no other field below them
	Shared      int        `json:"shared"`      // the number of leaf fields that other managers own as well
	Bytes       int        `json:"bytes"`       // the size of the manager's entries in JSON
	LastWrite   *time.Time `json:"lastWrite"`   // null if no time was recorded
	Kinds       []Kind     `json:"kinds"`       // the kinds of the objects on which the manager owns fields
	APIVersions []string   `json:"apiVersions"` // the apiVersions of the manager's entries
}

// Kind counts the objects of one kind.
type Kind struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Objects    int    `json:"objects"`
}

// Finding combines the findings about different objects that have the same rule, manager and remedy. The rule comes
// from package lint or from a contract. TYPE/NAME in the remedy is a placeholder for the object.
type Finding struct {
	Rule     string    `json:"rule"`
	Manager  *Manager  `json:"manager"` // null if the finding is not about one manager
	Objects  int       `json:"objects"`
	Examples []Example `json:"examples"` // the first MaxExamples objects
	Remedy   string    `json:"remedy"`
	Contract bool      `json:"contract,omitempty"` // a violation of the contract, not a finding of lint.Check
}

// ToDo returns the remedy. If the finding is about only one object, the object's name replaces TYPE/NAME.
func (f Finding) ToDo() string {
	if f.Objects != 1 || len(f.Examples) != 1 {
		return f.Remedy
	}
	return strings.Replace(f.Remedy, command.Placeholder, f.Examples[0].Target(), 1)
}

// Example is one object of a finding, with the message about this object.
type Example struct {
	view.Ref

	Message string `json:"message"`
}

// List describes the result of listing one resource in a cluster.
type List struct {
	Resource  string `json:"resource"`
	Namespace string `json:"namespace"` // "" for all namespaces
	Objects   int    `json:"objects"`
	// Snapshot reports whether the list shows all objects at the same point in time. It is false if reading the list
	// took longer than the API server keeps old versions.
	Snapshot bool   `json:"snapshot"`
	Error    string `json:"error,omitempty"` // why reading the list ended early; Objects counts the objects read before
}

// LeftOut counts the entries and findings that a report omits because of its limits.
type LeftOut struct {
	Managers int `json:"managers"` // the number of entries of managers beyond the first MaxManagers
	Findings int `json:"findings"` // the number of findings about single objects beyond the first MaxFindings
}

// These limits bound the size of a report, however many objects are audited.
const (
	MaxExamples = 5
	MaxProblems = 20
	MaxManagers = 10_000
	MaxFindings = 5_000
	maxKinds    = 200 // the limit for the kinds, and for the apiVersions, of each manager
)
