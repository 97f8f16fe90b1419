package owneraudit

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/cmd/kubectl-fieldowners/lint"
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/command"
	"coapply.dev/fieldowners/contract"
)

// Compare makes Add compare every further object with a contract.
func (a *Audit) Compare(with *contract.Comparer) { a.contract = with }

// compare returns the violations of the contract, and the findings of lint without wide updates
// of managers that the contract names: the contract decides about these.
func (a *Audit) compare(o Object, findings []lint.Finding) (rest, byContract []lint.Finding) {
	if a.contract == nil {
		return findings, nil
	}
	ownership, err := fieldowners.Parse(o.ManagedFields)
	if err != nil {
		return findings, nil // Add has reported it
	}
	rest = slices.DeleteFunc(findings, func(f lint.Finding) bool {
		return f.Rule == lint.RuleWideUpdate && a.contract.Names(f.Managers[0].Name)
	})
	for _, f := range a.contract.Compare(o.GVK().GroupKind(), o.Labels, ownership) {
		byContract = append(byContract, findingOf(f))
	}
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
