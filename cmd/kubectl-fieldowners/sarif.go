package main

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/owenrumney/go-sarif/v2/sarif"

	"coapply.dev/cmd/kubectl-fieldowners/internal/owneraudit"
	"coapply.dev/fieldowners/contract"
)

const (
	ruleConflict = "ownership-conflict"
	ruleRefused  = "refused-field"
	ruleUnsure   = "not-certain"
	ruleTakeover = "kubectl-takeover"
)

// printSarif prints one run as SARIF 2.1.0, for what shows findings beside the code.
func (p *plugin) printSarif(run *sarif.Run) error {
	report, err := sarif.New(sarif.Version210)
	if err != nil {
		return err
	}
	report.AddRun(run)
	return p.structured("json", report)
}

func newSarifRun() *sarif.Run {
	return sarif.NewRun(sarif.Tool{Driver: &sarif.ToolComponent{Name: name, Rules: []*sarif.ReportingDescriptor{}}})
}

// checkSarif returns a result for each finding of check, at its line of the file.
func checkSarif(manager string, items []checkItem) *sarif.Run {
	run := newSarifRun()
	run.AddRule(ruleConflict).WithDescription("Another field manager owns the field with another value").
		WithTextHelp("Leave the field out, set it to the owner's value to share it, or force the apply to take it.")
	run.AddRule(ruleRefused).WithDescription("The kind has no such field, or not of this type").
		WithTextHelp("Correct the name: kubectl explain lists the fields of a kind.")
	run.AddRule(ruleUnsure).WithDescription("What is known does not tell what an apply does here").
		WithTextHelp("Ask the API server: kubectl fieldowners check --dry-run=server.")
	run.AddRule(ruleTakeover).WithDescription("kubectl apply removes more than the file gives up").
		WithTextHelp("List the fields in the file, or apply it with another client than kubectl.")
	for _, item := range items {
		add := func(rule, level string, line int, format string, args ...any) {
			message := fmt.Sprintf("%s %s: %s", item.Kind, item.Name, fmt.Sprintf(format, args...))
			run.CreateResultForRule(rule).WithLevel(level).WithMessage(sarif.NewTextMessage(message)).AddLocation(inFile(item.File, line))
		}
		for _, r := range item.Refused {
			add(ruleRefused, "error", r.Line, "the API server refuses %s: %s", r.Path, r.Reason)
		}
		for _, c := range item.Conflicts {
			add(ruleConflict, "error", c.Line, "%s cannot set %s to %s: owned by %s with %s",
				manager, c.Path, short(c.Ours), c.Owner, short(c.Theirs))
		}
		for _, u := range item.Unsure {
			if !u.Sharing {
				add(ruleUnsure, "warning", u.Line, "%s: %s", u.Path, u.Reason)
			}
		}
		if t := item.Takeover; t != nil {
			add(ruleTakeover, "warning", item.Line, "%s: %s", t, strings.Join(t.Removes, ", "))
		}
	}
	return run
}

// auditSarif returns a result for each finding of an audit, which names the example objects.
// An object has no line of code; what breaks a contract is shown beside the contract's file.
func auditSarif(report owneraudit.Report, contractFile string) *sarif.Run {
	run := newSarifRun()
	for _, f := range report.Findings {
		run.AddRule(f.Rule).WithDescription(sarifShort(f.Rule)).WithTextHelp("kubectl fieldowners audit --help")
		result := run.CreateResultForRule(f.Rule).WithLevel("warning").WithMessage(sarif.NewTextMessage(sarifMessage(f)))
		if contractFile != "" && contractFile != "-" && f.Contract {
			result.WithLevel("error").AddLocation(inFile(contractFile, 1))
		}
		for _, example := range f.Examples {
			result.AddLocation(sarif.NewLocation().WithLogicalLocations([]*sarif.LogicalLocation{
				sarif.NewLogicalLocation().WithName(example.Name).WithFullyQualifiedName(example.Ref.String()).WithKind("object"),
			}))
		}
	}
	return run
}

func sarifShort(rule string) string {
	switch contract.Rule(rule) {
	case contract.RuleOutside:
		return "A field manager owns what its contract does not give it"
	case contract.RuleWide:
		return "An update of the whole object took fields that its author did not mean to change"
	}
	return strings.ReplaceAll(rule, "-", " ")
}

// sarifMessage says it of the first object, and what to do.
func sarifMessage(f owneraudit.Finding) string {
	message := f.Rule
	if len(f.Examples) > 0 {
		message = f.Examples[0].Ref.String() + ": " + f.Examples[0].Message
	}
	if more := f.Objects - 1; more > 0 {
		message += fmt.Sprintf(" (and on %d more)", more)
	}
	return message + ". What to do: " + f.ToDo()
}

// inFile returns a line of a file. A relative path becomes a relative reference, as seen
// from the root of whatever is checked.
func inFile(path string, line int) *sarif.Location {
	uri := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		uri.Scheme, uri.Path = "file", "/"+strings.TrimPrefix(uri.Path, "/") // C:/ too
	}
	return sarif.NewLocationWithPhysicalLocation(sarif.NewPhysicalLocation().
		WithArtifactLocation(sarif.NewSimpleArtifactLocation(uri.String())).
		WithRegion(sarif.NewRegion().WithStartLine(line)))
}
