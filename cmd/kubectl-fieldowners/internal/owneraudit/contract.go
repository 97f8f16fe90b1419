package owneraudit

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/command"
	"coapply.dev/fieldowners/contract"
	"coapply.dev/fieldowners/lint"
)

// Contract is what a report says of the contract that the objects were compared with; what
// breaks it is among the findings.
type Contract struct {
	// Unowned lists what managers that were met may own, and owned on no object. It is
	// information and no finding.
	Unowned []Unowned `json:"unowned"`
}

// Unowned is a path that a manager may own and does not.
type Unowned struct {
	Manager   string                            `json:"manager"`
	Kind      string                            `json:"kind"` // with its group: Deployment.apps
	Operation metav1.ManagedFieldsOperationType `json:"operation"`
	Path      string                            `json:"path"`
}

// held is a contract that objects are compared with.
type held struct {
	comparer *contract.Comparer
	unowned  map[Unowned]int   // on how many objects
	met      map[metOfKind]int // on how many objects a manager owns anything
}

// metOfKind is a manager on objects of a kind.
type metOfKind struct {
	manager, kind string
	operation     metav1.ManagedFieldsOperationType
}

// Compare has every object that is added from now on compared with a contract.
func (a *Audit) Compare(with *contract.Comparer) {
	a.held = &held{comparer: with, unowned: map[Unowned]int{}, met: map[metOfKind]int{}}
}

// compare finds what breaks the contract. What Lint takes for a wide update, from managed
// fields alone, is judged by the contract where it names the manager.
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
	compared := h.comparer.Compare(kind, ownership)
	for _, f := range compared.Findings {
		byContract = append(byContract, findingOf(f))
	}
	h.count(kind.String(), ownership, compared.Unowned)
	return rest, byContract
}

// findingOf turns a finding of the contract into one of the form that others have.
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

// report lists what its manager owned on no object, of those that have the manager.
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
