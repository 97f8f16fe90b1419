package owneraudit

import (
	"cmp"
	"slices"
	"strings"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
	"coapply.dev/fieldowners/lint"
)

// findingKey is what findings are counted by.
type findingKey struct {
	rule     lint.Rule
	manager  Manager
	remedy   string // it names other managers as well
	contract bool
}

// Found counts findings about an object that somebody else made: those of an object in one
// call, so that it counts once.
func (a *Audit) Found(object Ref, findings []lint.Finding) {
	a.countFindings(object, findings, false)
}

// countFindings counts an object once for each rule, manager and remedy.
func (a *Audit) countFindings(object Ref, findings []lint.Finding, byContract bool) {
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

// Report gives what was found so far. complete tells that everything asked for was
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
