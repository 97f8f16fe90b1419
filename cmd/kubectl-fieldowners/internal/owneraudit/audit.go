// Package owneraudit sums up the ownership of many objects: which managers write to
// them, what Lint finds, and which managers own fields together.
//
// It is pure, and what it holds does not grow with the number of objects: it counts,
// and keeps a bounded number of examples. Where names are as many as objects, as a
// hostile client may make them, it stops telling them apart and says so.
//
//	audit := owneraudit.New()
//	for each object {
//		audit.Add(object)
//	}
//	owneraudit.Print(os.Stdout, audit.Report(), screen, wide)
package owneraudit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/lint"
)

// Object is what an audit needs of an object.
type Object struct {
	ownerview.Ref

	ManagedFields []metav1.ManagedFieldsEntry
	Unread        []error // entries that are no entries at all
	Facts         lint.Facts
}

// Audit sums up objects, one after another. Use New.
type Audit struct {
	report   Report
	managers map[Manager]*managerTally
	findings map[findingKey]*Finding
	overlaps map[[2]Manager]*Overlap

	held *held // nil: there is no contract

	// Of the object that is being added:
	holders []*managerTally // its managers, each once
	scan    scan
	pairs   map[holderPair]int
}

// New returns an audit of no object yet.
func New() *Audit {
	return &Audit{
		managers: map[Manager]*managerTally{},
		findings: map[findingKey]*Finding{},
		overlaps: map[[2]Manager]*Overlap{},
		pairs:    map[holderPair]int{},
	}
}

// Add counts an object, and reports whether anything is found. Entries that cannot be
// read are problems; the others count.
func (a *Audit) Add(o Object) (found bool) {
	a.report.Objects++
	for _, err := range o.Unread {
		a.Problem(fmt.Errorf("%s: %w", o.Ref, err))
	}
	if len(o.ManagedFields) == 0 {
		if len(o.Unread) == 0 {
			a.report.ManagedFieldsAbsent++
		}
		return false
	}
	findings, err := lint.Check(o.ManagedFields, o.Facts)
	if err != nil {
		o.ManagedFields = a.readable(o)
		if findings, err = lint.Check(o.ManagedFields, o.Facts); err != nil {
			a.Problem(fmt.Errorf("%s: %w", o.Ref, err))
			return false
		}
	}
	findings, byContract := a.held.compare(o, findings)
	a.countEntries(o)
	a.countFields(o)
	a.countFindings(o.Ref, findings, false)
	a.countFindings(o.Ref, byContract, true)
	return len(findings)+len(byContract) > 0
}

// readable returns the entries that can be read; of each other one it notes why not.
func (a *Audit) readable(o Object) []metav1.ManagedFieldsEntry {
	_, unread := fieldowners.ParseReadable(o.ManagedFields)
	for _, wrong := range unread {
		a.Problem(fmt.Errorf("%s: %w", o.Ref, wrong))
	}
	good := slices.Clone(o.ManagedFields)
	for _, wrong := range slices.Backward(unread) {
		good = slices.Delete(good, wrong.Index, wrong.Index+1)
	}
	return good
}

// Problem notes that something could not be read.
func (a *Audit) Problem(err error) {
	a.report.ProblemCount++
	if len(a.report.Problems) < MaxProblems {
		a.report.Problems = append(a.report.Problems, ownerview.Safe(err.Error()))
	}
}

// Listed notes that a kind was read, as far as it could be.
func (a *Audit) Listed(l List) { a.report.Lists = append(a.report.Lists, l) }

// Objects returns how many objects were added.
func (a *Audit) Objects() int { return a.report.Objects }

// later returns the later of two times; a nil one is not known.
func later(known *time.Time, then *metav1.Time) *time.Time {
	if then == nil || then.IsZero() || known != nil && !then.After(*known) {
		return known
	}
	return new(then.UTC())
}

// findingKey is what findings are counted by.
type findingKey struct {
	rule     lint.Rule
	manager  Manager
	remedy   string // it names other managers as well
	contract bool
}

// Found counts findings about an object that somebody else made: those of an object in one
// call, so that it counts once.
func (a *Audit) Found(object ownerview.Ref, findings []lint.Finding) {
	a.countFindings(object, findings, false)
}

// countFindings counts an object once for each rule, manager and remedy.
func (a *Audit) countFindings(object ownerview.Ref, findings []lint.Finding, byContract bool) {
	counted := map[findingKey]bool{}
	for _, f := range findings {
		key := findingKey{rule: f.Rule, remedy: f.Remedy, contract: byContract}
		if len(f.Managers) > 0 {
			key.manager = ownerview.Owner(f.Managers[0])
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

// Report returns what was found so far. complete says that everything asked for was
// read.
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
	report.Overlaps = a.sortedOverlaps()
	report.Contract = a.held.report()
	report.Lists = append([]List{}, report.Lists...)
	report.Problems = append([]string{}, report.Problems...)
	return report
}

func compareManagers(a, b *Manager) int {
	if a == nil || b == nil {
		return 0 // of one rule all have one or none has
	}
	return a.Compare(*b)
}
