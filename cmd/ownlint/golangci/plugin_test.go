package golangci

import (
	"testing"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"
)

func TestPluginHasAllRules(t *testing.T) {
	newPlugin, err := register.GetPlugin("ownlint")
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPlugin(nil)
	if err != nil {
		t.Fatal(err)
	}
	analyzers, err := p.BuildAnalyzers()
	if err != nil {
		t.Fatal(err)
	}
	if err := analysis.Validate(analyzers); err != nil || len(analyzers) < 9 {
		t.Errorf("%d analyzers, %v", len(analyzers), err)
	}
}
