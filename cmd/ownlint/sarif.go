package main

import (
	"encoding/json"
	"io"
	"path/filepath"

	"coapply.dev/cmd/ownlint/rules"
)

type object = map[string]any

// printSARIF prints the part of SARIF 2.1.0 that code scanning services read.
func printSARIF(w io.Writer, found []finding) error {
	var described []object
	for _, a := range rules.All() {
		described = append(described, object{"id": rules.NameOf(a), "shortDescription": object{"text": a.Doc}, "helpUri": a.URL})
	}
	results := []object{}
	for _, f := range found {
		results = append(results, object{
			"ruleId":  f.rule,
			"level":   "warning",
			"message": object{"text": f.message},
			"locations": []object{{"physicalLocation": object{
				"artifactLocation": object{"uri": filepath.ToSlash(f.file)},
				"region":           object{"startLine": f.line, "startColumn": f.column},
			}}},
		})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json",
		"version": "2.1.0",
		"runs":    []object{{"tool": object{"driver": object{"name": "ownlint", "rules": described}}, "results": results}},
	})
}
