package ownerpage

import (
	"io"
	"time"

	"coapply.dev/cmd/kubectl-fieldowners/internal/owneraudit"
)

// maxRows is how much of a table is shown: a page is for people. The rest is in
// -o json.
const maxRows = 500

// auditData is the report as the page shows it.
type auditData struct {
	head
	owneraudit.Report

	ManagerRows []auditManager
	Rules       []rule
	Pairs       []pair
	MoreManagers, MoreFindings,
	MorePairs int
}

// auditManager is a row of the table of managers.
type auditManager struct {
	owneraudit.ManagerRow

	Bar          bar // of its fields, those that it shares last
	Written, Age string
	Kinds        []owneraudit.Kind
	MoreKinds    int
}

// rule is what Lint found by one rule.
type rule struct {
	Name, Remedy string // the remedy is empty where its findings differ in it
	Findings     []finding
}

type finding struct {
	Manager  *owneraudit.Manager
	Objects  int
	Examples []example
	Remedy   string
}

type example struct {
	Object, Message string
}

// pair is two managers that own fields together.
type pair struct {
	owneraudit.Overlap

	ExampleName string
}

// Audit writes a page of an audit.
func Audit(w io.Writer, about About, report owneraudit.Report) error {
	data := auditData{
		head:   head{About: about, Kicker: "Who writes which fields", Title: "Audit of " + plural(report.Objects, "object")},
		Report: report,
	}
	managers, findings, overlaps := report.Managers, report.Findings, report.Overlaps
	managers, data.MoreManagers = atMost(managers)
	findings, data.MoreFindings = atMost(findings)
	overlaps, data.MorePairs = atMost(overlaps)
	data.ManagerRows = auditManagers(about, managers)
	data.Rules = rulesOf(findings)
	for _, o := range overlaps {
		o.Path = cut(o.Path)
		data.Pairs = append(data.Pairs, pair{Overlap: o, ExampleName: o.Example.String()})
	}
	return write(w, auditTemplate, data)
}

// atMost returns what is shown of a table, and how much more there is.
func atMost[T any](rows []T) ([]T, int) {
	shown := rows[:min(len(rows), maxRows)]
	return shown, len(rows) - len(shown)
}

func auditManagers(about About, managers []owneraudit.ManagerRow) []auditManager {
	fields := 0
	for _, m := range managers {
		fields = max(fields, m.Fields)
	}
	const kinds = 3 // of a manager
	var rows []auditManager
	for _, m := range managers {
		row := auditManager{ManagerRow: m, Bar: bar{total: fields}}
		row.Kinds = m.Kinds[:min(len(m.Kinds), kinds)]
		row.MoreKinds = len(m.Kinds) - len(row.Kinds)
		row.Bar.add(m.Fields-m.Shared, segment{Look: "k0"})
		row.Bar.add(m.Shared, segment{Look: "k0 many"})
		if m.LastWrite != nil {
			row.Written, row.Age = m.LastWrite.UTC().Format(time.DateOnly), about.Age(*m.LastWrite)
		}
		rows = append(rows, row)
	}
	return rows
}

// rulesOf groups findings, which come in the order of their rules.
func rulesOf(findings []owneraudit.Finding) []rule {
	var rules []rule
	for _, f := range findings {
		if len(rules) == 0 || rules[len(rules)-1].Name != f.Rule {
			rules = append(rules, rule{Name: f.Rule, Remedy: f.ToDo()})
		}
		last := &rules[len(rules)-1]
		if last.Remedy != f.ToDo() {
			last.Remedy = ""
		}
		row := finding{Manager: f.Manager, Objects: f.Objects, Remedy: f.ToDo()}
		for _, e := range f.Examples {
			row.Examples = append(row.Examples, example{safe(e.Ref.String()), text(e.Message)})
		}
		last.Findings = append(last.Findings, row)
	}
	return rules
}
