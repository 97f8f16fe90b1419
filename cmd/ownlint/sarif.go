package main

import (
	"encoding/json"
	"io"
	"path/filepath"

	"coapply.dev/cmd/ownlint/rules"
)

// The part of SARIF 2.1.0 that code scanning services read.
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
		URI   string      `json:"informationUri"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string    `json:"id"`
		Short   sarifText `json:"shortDescription"`
		HelpURI string    `json:"helpUri"`
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
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn"`
	}
)

func printSARIF(w io.Writer, found []finding) error {
	run := sarifRun{
		Tool:    sarifTool{sarifDriver{Name: "ownlint", URI: "https://coapply.dev/docs/ownlint.md"}},
		Results: []sarifResult{},
	}
	for _, a := range rules.All() {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{rules.NameOf(a), sarifText{a.Doc}, a.URL})
	}
	for _, f := range found {
		run.Results = append(run.Results, sarifResult{
			RuleID:  f.rule,
			Level:   "warning",
			Message: sarifText{f.message},
			Locations: []sarifLocation{{sarifPhysical{
				Artifact: sarifArtifact{filepath.ToSlash(f.Filename)},
				Region:   sarifRegion{f.Line, f.Column},
			}}},
		})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}
