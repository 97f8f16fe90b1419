package main

import (
	"fmt"
	"slices"
	"strings"

	"coapply.dev/cmd/kubectl-fieldowners/internal/owneraudit"
	"coapply.dev/fieldowners/contract"
)

// auditSarif is a report's findings as SARIF: one result each, where the examples are. An
// object has no line of code; what breaks a contract is shown beside the contract's file.
func auditSarif(report owneraudit.Report, contractFile string) sarifLog {
	results, rules := []sarifResult{}, []sarifRule{}
	for _, f := range report.Findings {
		result := sarifResult{RuleID: f.Rule, Level: "warning", Message: sarifText{sarifMessage(f)}}
		if contractFile != "" && contractFile != "-" && f.Contract {
			result.Level = "error"
			result.Locations = []sarifLocation{{PhysicalLocation: &sarifPhysical{sarifArtifact{fileURI(contractFile)}, sarifRegion{1}}}}
		}
		for _, example := range f.Examples {
			result.Locations = append(result.Locations, sarifLocation{LogicalLocations: []sarifLogical{{
				Name: example.Name, FullyQualifiedName: example.Ref.String(), Kind: "object",
			}}})
		}
		results = append(results, result)
		if !slices.ContainsFunc(rules, func(known sarifRule) bool { return known.ID == f.Rule }) {
			rules = append(rules, sarifRule{f.Rule, sarifText{sarifShort(f.Rule)}, sarifText{"kubectl fieldowners audit --help"}})
		}
	}
	return newSarifLog(rules, results)
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
