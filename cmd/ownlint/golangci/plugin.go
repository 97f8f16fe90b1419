// Package golangci registers ownlint as a module plugin of golangci-lint. To use the plugin, list this package in
// .custom-gcl.yml, build golangci-lint with "golangci-lint custom", and enable the linter ownlint.
package golangci

import (
	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"coapply.dev/cmd/ownlint/rules"
)

func init() {
	register.Plugin("ownlint", func(any) (register.LinterPlugin, error) { return plugin{}, nil })
}

// plugin has no settings: findings are excluded with //ownlint:ignore or with the exclusions of golangci-lint.
type plugin struct{}

// BuildAnalyzers returns the analyzers of all rules.
func (plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) { return rules.All(), nil }

// GetLoadMode returns the mode that loads types.
func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
