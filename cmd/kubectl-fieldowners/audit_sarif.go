package main

import (
	"fmt"
	"strings"

	"github.com/owenrumney/go-sarif/v2/sarif"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/owneraudit"
	"coapply.dev/fieldowners/contract"
)

// auditSarif returns a result for each finding of an audit, which names the example objects.
// An object has no line of code; what breaks a contract is shown beside the contract's file.
func auditSarif(report owneraudit.Report, contractFile string) *sarif.Run {
	run := console.NewSarif()
	for _, f := range report.Findings {
		run.AddRule(f.Rule).WithDescription(sarifShort(f.Rule)).WithTextHelp("kubectl fieldowners audit --help")
		result := run.CreateResultForRule(f.Rule).WithLevel("warning").WithMessage(sarif.NewTextMessage(sarifMessage(f)))
		if contractFile != "" && contractFile != "-" && f.Contract {
			result.WithLevel("error").AddLocation(console.LineOf(contractFile, 1))
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
