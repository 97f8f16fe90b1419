package owneraudit

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/cmd/kubectl-fieldowners/lint"
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/command"
	"coapply.dev/fieldowners/contract"
)

// Contract is the part of a report about the contract with which the objects were compared;
// violations are among the findings.
type Contract struct {
	// Unowned lists what managers in the audit may own, and owned on no object. This is no
	// finding.
	Unowned []Unowned `json:"unowned"`
}

// Unowned is a path that a manager may own and does not own.
type Unowned struct {
	Manager   string                            `json:"manager"`
	Kind      string                            `json:"kind"` // with its group: Deployment.apps
	Operation metav1.ManagedFieldsOperationType `json:"operation"`
	Path      string                            `json:"path"`
}

// held is a contract with which objects are compared, and its counts.
type held struct {
	comparer *contract.Comparer
	unowned  map[Unowned]int   // on how many objects
	met      map[metOfKind]int // on how many objects a manager owns anything
}

// metOfKind identifies a manager on objects of a kind.
type metOfKind struct {
	manager, kind string
	operation     metav1.ManagedFieldsOperationType
}

// Compare makes Add compare every further object with a contract.
func (a *Audit) Compare(with *contract.Comparer) {
	a.held = &held{comparer: with, unowned: map[Unowned]int{}, met: map[metOfKind]int{}}
}

// compare returns the violations of the contract, and the findings of lint without wide updates
// of managers that the contract names: the contract decides about these.
func (h *held) compare(o Object, findings []lint.Finding) (rest, byContract []lint.Finding) {
	if h == nil {
		return findings, nil
	}
	ownership, err := fieldowners.Parse(o.ManagedFields)
	if err != nil {
		return findings, nil // Add has reported it
	}
	rest = slices.DeleteFunc(findings, func(f lint.Finding) bool {
		return f.Rule == lint.RuleWideUpdate && h.comparer.Names(f.Managers[0].Name)
	})
	kind := o.GVK().GroupKind()
	compared := h.comparer.Compare(kind, o.Labels, ownership)
	for _, f := range compared.Findings {
		byContract = append(byContract, findingOf(f))
	}
	h.count(kind.String(), ownership, compared.Unowned)
	return rest, byContract
}

// findingOf returns a finding of the contract as a lint.Finding.
func findingOf(f contract.Finding) lint.Finding {
	const shown = 3
	found := lint.Finding{
		Rule: lint.Rule(f.Rule), Managers: []fieldowners.Manager{f.Manager},
		Paths: f.Paths[:min(len(f.Paths), shown)], Fields: len(f.Paths), Message: f.Message(),
	}
	const most = 8 // of paths in a command
	if f.Owner.Operation == metav1.ManagedFieldsOperationApply && len(f.Paths) <= most {
		found.Managers = append(found.Managers, f.Owner)
		found.Remedy = command.EndSharing(f.Owner, f.Manager, f.Paths)
		return found
	}
	if f.Rule == contract.RuleWide {
		found.Message += "; have its author send only what changed, or put this into the contract"
	} else {
		found.Message += "; have its author leave this out, or put it into the contract"
	}
	found.Remedy = "kubectl fieldowners " + command.Placeholder
	return found
}

func (h *held) count(kind string, ownership fieldowners.Ownership, unowned []contract.Unowned) {
	here := map[metOfKind]bool{}
	for _, entry := range ownership.Entries() {
		if h.comparer.Names(entry.Name) {
			here[metOfKind{entry.Name, kind, entry.Operation}] = true
		}
	}
	for met := range here {
		h.met[met]++
	}
	for _, u := range unowned {
		h.unowned[Unowned{u.Manager, kind, u.Operation, u.Path.String()}]++
	}
}

// report returns the report, with the paths that a manager owned on none of the objects on
// which it was met.
func (h *held) report() *Contract {
	if h == nil {
		return nil
	}
	report := &Contract{Unowned: []Unowned{}}
	for unowned, objects := range h.unowned {
		if objects == h.met[metOfKind{unowned.Manager, unowned.Kind, unowned.Operation}] {
			report.Unowned = append(report.Unowned, unowned)
		}
	}
	slices.SortFunc(report.Unowned, func(a, b Unowned) int {
		return cmp.Or(cmp.Compare(a.Manager, b.Manager), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Path, b.Path))
	})
	return report
}
