package main

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// The part of SARIF 2.1.0 that findings in files need
// (https://docs.oasis-open.org/sarif/sarif/v2.1.0/).
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
		Help             sarifText `json:"help"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		PhysicalLocation *sarifPhysical `json:"physicalLocation,omitempty"`
		LogicalLocations []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifLogical struct {
		Name               string `json:"name"`
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
	sarifPhysical struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
)

const (
	ruleConflict = "ownership-conflict"
	ruleRefused  = "refused-field"
	ruleUnsure   = "not-certain"
	ruleTakeover = "kubectl-takeover"
)

func newSarif(manager string, items []checkItem) sarifLog {
	results := []sarifResult{}
	add := func(item checkItem, rule, level string, line int, message string) {
		results = append(results, sarifResult{
			RuleID: rule, Level: level, Message: sarifText{message},
			Locations: []sarifLocation{{PhysicalLocation: &sarifPhysical{sarifArtifact{fileURI(item.File)}, sarifRegion{line}}}},
		})
	}
	for _, item := range items {
		object := item.Kind + " " + item.Name
		for _, r := range item.Refused {
			add(item, ruleRefused, "error", r.Line, fmt.Sprintf("%s: the API server refuses %s: %s", object, r.Path, r.Reason))
		}
		for _, c := range item.Conflicts {
			add(item, ruleConflict, "error", c.Line, fmt.Sprintf("%s: %s cannot set %s to %s: owned by %s with %s",
				object, manager, c.Path, short(c.Ours), c.Owner, short(c.Theirs)))
		}
		for _, u := range item.Unsure {
			if u.Sharing {
				continue
			}
			add(item, ruleUnsure, "warning", u.Line, fmt.Sprintf("%s: %s: %s", object, u.Path, u.Reason))
		}
		if t := item.Takeover; t != nil {
			add(item, ruleTakeover, "warning", item.Line, fmt.Sprintf("%s: %s: %s", object, t, strings.Join(t.Removes, ", ")))
		}
	}
	rules := []sarifRule{
		{ruleConflict, sarifText{"Another field manager owns the field with another value"},
			sarifText{"Leave the field out, set it to the owner's value to share it, or force the apply to take it."}},
		{ruleRefused, sarifText{"The kind has no such field, or not of this type"},
			sarifText{"Correct the name: kubectl explain lists the fields of a kind."}},
		{ruleUnsure, sarifText{"What is known does not tell what an apply does here"},
			sarifText{"Ask the API server: kubectl fieldowners check --dry-run=server."}},
		{ruleTakeover, sarifText{"kubectl apply removes more than the file gives up"},
			sarifText{"List the fields in the file, or apply it with another client than kubectl."}},
	}
	return newSarifLog(rules, results)
}

func newSarifLog(rules []sarifRule, results []sarifResult) sarifLog {
	return sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{{Tool: sarifTool{sarifDriver{name, rules}}, Results: results}},
	}
}

// fileURI gives a relative reference for a relative path, as seen from the root of
// whatever is checked.
func fileURI(path string) string {
	uri := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		uri.Scheme, uri.Path = "file", "/"+strings.TrimPrefix(uri.Path, "/") // C:/ too
	}
	return uri.String()
}
