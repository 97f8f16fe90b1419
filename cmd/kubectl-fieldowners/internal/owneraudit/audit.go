// Package owneraudit summarises the field ownership of many objects: which field managers write to
// them, and which problems package lint finds.
//
// The package sends no requests. Its memory does not grow with the number of objects: it keeps
// counts and a bounded number of examples. A hostile client may write under very many manager names.
// Beyond a limit, the report only counts the entries that it leaves out.
//
//	audit := owneraudit.New()
//	for each object {
//		audit.Add(object)
//	}
//	owneraudit.Print(os.Stdout, audit.Report(true), screen, wide)
package owneraudit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/cmd/kubectl-fieldowners/lint"
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/contract"
	"coapply.dev/internal/command"
)

// Object is the part of a Kubernetes object that an audit needs.
type Object struct {
	view.Ref

	Labels        map[string]string // matched against the label selectors of a contract (see Audit.Compare)
	ManagedFields []metav1.ManagedFieldsEntry
	Unread        []error // the errors about entries that could not be decoded
	Facts         lint.Facts
}

// Audit summarises the field ownership of many objects. New creates an Audit.
type Audit struct {
	report   Report
	managers map[Manager]*managerTally
	findings map[findingKey]*Finding

	contract *contract.Comparer // nil if the objects are not compared with a contract
}

// New returns an empty Audit, to which Add adds objects.
func New() *Audit {
	return &Audit{
		report:   Report{AbsentExamples: []view.Ref{}, Lists: []List{}, Problems: []string{}}, // empty lists, which are not null as JSON
		managers: map[Manager]*managerTally{},
		findings: map[findingKey]*Finding{},
	}
}

// Add adds an object to the summary, and reports whether there are findings about the object.
// Entries that cannot be read are reported as problems, and all other entries are counted.
func (a *Audit) Add(o Object) (found bool) {
	a.report.Objects++
	for _, err := range o.Unread {
		a.Problem(fmt.Errorf("%s: %w", o.Ref, err))
	}
	if len(o.ManagedFields) == 0 {
		if len(o.Unread) == 0 {
			a.absent(o.Ref)
		}
		return false
	}
	ownership, unread := fieldowners.ParseReadable(o.ManagedFields)
	for _, err := range unread {
		a.Problem(fmt.Errorf("%s: %w", o.Ref, err))
	}
	o.ManagedFields = slices.Clone(o.ManagedFields)
	for _, wrong := range slices.Backward(unread) {
		o.ManagedFields = slices.Delete(o.ManagedFields, wrong.Index, wrong.Index+1)
	}
	findings, err := lint.Check(o.ManagedFields, o.Facts)
	if err != nil {
		a.Problem(fmt.Errorf("%s: %w", o.Ref, err))
		return false
	}
	findings, byContract := a.compare(o, ownership, findings)
	a.countEntries(o)
	a.countFields(ownership)
	a.countFindings(o.Ref, findings, false)
	a.countFindings(o.Ref, byContract, true)
	return len(findings)+len(byContract) > 0
}

func (a *Audit) absent(object view.Ref) {
	a.report.ManagedFieldsAbsent++
	if len(a.report.AbsentExamples) < MaxExamples {
		a.report.AbsentExamples = append(a.report.AbsentExamples, object)
	}
}

// Problem records an error that prevented reading of objects or of managed fields.
func (a *Audit) Problem(err error) {
	a.report.ProblemCount++
	if len(a.report.Problems) < MaxProblems {
		a.report.Problems = append(a.report.Problems, view.Safe(err.Error()))
	}
}

// Listed adds the given list, which was read from a cluster, to the report.
func (a *Audit) Listed(l List) { a.report.Lists = append(a.report.Lists, l) }

// Objects returns the number of objects that were added by Add.
func (a *Audit) Objects() int { return a.report.Objects }

// later returns the later of two times. Each time may be nil, which means unknown.
func later(known *time.Time, then *metav1.Time) *time.Time {
	if then == nil || then.IsZero() || known != nil && !then.After(*known) {
		return known
	}
	return new(then.UTC())
}

// findingKey is the key by which findings about several objects are combined into one Finding.
type findingKey struct {
	rule     lint.Rule
	manager  Manager
	remedy   string // part of the key, because the second manager in a remedy may differ between objects
	contract bool   // the findings are violations of the contract
}

// countFindings adds the findings about one object to the report. Findings with the same rule,
// manager and remedy count as one. byContract is true for violations of the contract.
func (a *Audit) countFindings(object view.Ref, findings []lint.Finding, byContract bool) {
	counted := map[findingKey]bool{}
	for _, f := range findings {
		key := findingKey{rule: f.Rule, remedy: f.Remedy, contract: byContract}
		if len(f.Managers) > 0 {
			key.manager = view.Owner(f.Managers[0])
		}
		if counted[key] {
			continue
		}
		counted[key] = true
		known := a.findings[key]
		switch {
		case known == nil && len(a.findings) >= MaxFindings:
			a.report.LeftOut.Findings++
			continue
		case known == nil:
			known = &Finding{Rule: string(f.Rule), Remedy: f.Remedy, Contract: byContract}
			if key.manager != (Manager{}) {
				known.Manager = &key.manager
			}
			a.findings[key] = known
		}
		known.Objects++
		if len(known.Examples) < MaxExamples {
			message := strings.TrimPrefix(f.String(), string(f.Rule)+": ")
			known.Examples = append(known.Examples, Example{Ref: object, Message: message})
		}
	}
}

// Report returns the report on the objects added so far. complete is true if all requested objects were added.
func (a *Audit) Report(complete bool) Report {
	report := a.report
	report.Complete = complete && report.ProblemCount == 0
	report.Managers = a.rows()
	report.Findings = make([]Finding, 0, len(a.findings))
	for _, finding := range a.findings {
		report.Findings = append(report.Findings, *finding)
	}
	slices.SortFunc(report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), b.Objects-a.Objects, compareManagers(a.Manager, b.Manager), cmp.Compare(a.Remedy, b.Remedy))
	})
	return report
}

func compareManagers(a, b *Manager) int {
	if a == nil || b == nil {
		return 0 // the findings of one rule all have a manager, or none has
	}
	return a.Compare(*b)
}

// Compare sets the contract for all objects added later. A contract specifies the fields that each manager may own.
func (a *Audit) Compare(with *contract.Comparer) { a.contract = with }

// compare returns the violations of the contract and the remaining findings of package lint. If a manager has a claim
// in the contract, compare removes the RuleWideUpdate findings about this manager, because the contract already
// specifies which fields the manager may own.
func (a *Audit) compare(o Object, ownership fieldowners.Ownership, findings []lint.Finding) (rest, byContract []lint.Finding) {
	if a.contract == nil {
		return findings, nil
	}
	rest = slices.DeleteFunc(findings, func(f lint.Finding) bool {
		return f.Rule == lint.RuleWideUpdate && a.contract.Names(f.Managers[0].Name)
	})
	for _, f := range a.contract.Compare(o.GVK().GroupKind(), o.Labels, ownership) {
		byContract = append(byContract, findingOf(f))
	}
	return rest, byContract
}

func findingOf(f contract.Finding) lint.Finding {
	const shown = 3
	found := lint.Finding{
		Rule: lint.Rule(f.Rule), Managers: []fieldowners.Manager{f.Manager},
		Paths: f.Paths[:min(len(f.Paths), shown)], Fields: len(f.Paths), Message: f.Message(),
	}
	const most = 8 // the maximum number of paths in a remedy's command
	if f.Owner.Operation == metav1.ManagedFieldsOperationApply && len(f.Paths) <= most {
		found.Managers = append(found.Managers, f.Owner)
		found.Remedy = command.EndSharing(f.Owner, f.Manager, f.Paths)
		return found
	}
	if f.Rule == contract.RuleWide {
		found.Message += "; have the client send only its changes, or add these fields to the contract"
	} else {
		found.Message += "; have the client leave these fields out, or add them to the contract"
	}
	found.Remedy = "kubectl fieldowners " + command.Placeholder
	return found
}
