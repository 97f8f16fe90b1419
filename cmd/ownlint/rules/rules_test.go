package rules

import (
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// suite runs all rules as one analyzer, so that the Kubernetes modules are loaded once, and so that each case also shows
// that no other rule reports the case.
func suite() *analysis.Analyzer {
	a := &analysis.Analyzer{Name: "ownlint", Doc: "all rules"}
	for _, rule := range All() {
		a.Requires = append(a.Requires, rule.Requires...)
	}
	a.Run = func(pass *analysis.Pass) (any, error) {
		for _, rule := range All() {
			if _, err := rule.Run(pass); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	return a
}

func TestRules(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), suite(), "./...")
}
