package page

import (
	"io"

	"coapply.dev/cmd/kubectl-fieldowners/internal/owneraudit"
)

// maxRows is the largest number of rows in a table of an HTML page. -o json prints all rows.
const maxRows = 500

type auditData struct {
	head
	owneraudit.Report

	Rules []rule
}

// rule is a section of the page that lists the findings of one rule. Remedy is "" if their remedies differ.
type rule struct {
	Name, Remedy string
	Findings     []owneraudit.Finding
}

// Audit writes the page that shows the report of an audit.
func Audit(w io.Writer, about About, report owneraudit.Report) error {
	return auditTemplate.Execute(w, auditData{
		head:   head{About: about, Kicker: "Who writes which fields", Title: "Audit of " + plural(report.Objects, "object")},
		Report: report,
		Rules:  rulesOf(report.Findings[:min(len(report.Findings), maxRows)]),
	})
}

// Bar returns the bar for the fields of one manager: first the fields that the manager owns alone, then
// the shared fields. The bar of the manager with the most fields has the full width.
func (d auditData) Bar(row owneraudit.ManagerRow) (b bar) {
	for _, m := range d.Managers {
		b.total = max(b.total, m.Fields)
	}
	b.add(row.Fields-row.Shared, segment{Look: "k0"})
	b.add(row.Shared, segment{Look: "k0 many"})
	return b
}

// rulesOf groups findings by rule. The findings must be in the order of their rules.
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
		last.Findings = append(last.Findings, f)
	}
	return rules
}
