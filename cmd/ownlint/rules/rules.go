// Package rules holds the analyzers of ownlint, one for each rule. Every rule reports only what it is sure of: a call
// whose object, error or order the analysis cannot follow is not reported.
package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"coapply.dev/cmd/ownlint/internal/flow"
)

// DocsURL is where the pages of the rules are: DocsURL + RULE + ".md".
const DocsURL = "https://coapply.dev/docs/ownlint/"

// All returns the analyzers of all rules. The name of a rule is NameOf(analyzer).
func All() []*analysis.Analyzer {
	return []*analysis.Analyzer{
		WideUpdate, StaleRetry, LostConflict, PatchNoLock, ApplyFromObject, StatusUpdate, CacheWrite, NotRepeatable,
		FinalizerOrder, Ignore,
	}
}

// NameOf returns the name of an analyzer's rule. Names of analyzers have no hyphens because drivers make flags of them.
func NameOf(a *analysis.Analyzer) string { return strings.ReplaceAll(a.Name, "_", "-") }

// newRule returns the analyzer of a rule.
func newRule(name, doc string, check func(*checker)) *analysis.Analyzer {
	a := &analysis.Analyzer{
		Name:     strings.ReplaceAll(name, "-", "_"),
		Doc:      doc,
		URL:      DocsURL + name + ".md",
		Requires: []*analysis.Analyzer{flow.Analyzer, directives},
	}
	a.Run = func(pass *analysis.Pass) (_ any, err error) {
		defer flow.Recover(pass, &err)
		check(&checker{
			Package: pass.ResultOf[flow.Analyzer].(*flow.Package),
			pass:    pass,
			rule:    name,
			ignored: pass.ResultOf[directives].(*directiveTable),

			reported: make(map[token.Pos]bool),
		})
		return nil, nil
	}
	return a
}

// checker is one run of one rule on one package.
type checker struct {
	*flow.Package
	pass    *analysis.Pass
	rule    string
	ignored *directiveTable
	calls   map[token.Pos]*ast.CallExpr

	reported map[token.Pos]bool // one finding of a rule at a position is enough
}

// report reports a finding at an instruction, unless a comment says to ignore the rule there.
func (c *checker) report(at ssa.Instruction, fixes []analysis.SuggestedFix, format string, args ...any) {
	pos := at.Pos()
	if call := c.callExpr(at); call != nil {
		pos = call.Pos()
	}
	if !pos.IsValid() || c.reported[pos] || c.ignored.covers(c.pass.Fset.Position(pos), c.rule) {
		return
	}
	c.reported[pos] = true
	c.pass.Report(analysis.Diagnostic{
		Pos:            pos,
		Category:       c.rule,
		Message:        c.rule + ": " + fmt.Sprintf(format, args...),
		SuggestedFixes: fixes,
	})
}

// callExpr returns the syntax of a call, nil for other instructions.
func (c *checker) callExpr(instr ssa.Instruction) *ast.CallExpr {
	call, ok := instr.(ssa.CallInstruction)
	if !ok {
		return nil
	}
	if c.calls == nil {
		c.calls = make(map[token.Pos]*ast.CallExpr)
		for _, file := range c.pass.Files {
			ast.Inspect(file, func(n ast.Node) bool {
				if e, ok := n.(*ast.CallExpr); ok {
					c.calls[e.Lparen] = e
				}
				return true
			})
		}
	}
	return c.calls[call.Common().Pos()]
}

// eachCall calls a function for each call of the package.
func (c *checker) eachCall(visit func(ssa.CallInstruction)) {
	for _, fn := range c.Functions {
		eachCallOf(fn, visit)
	}
}

// eachCallOf calls a function for each call of a function, without the calls of function literals in it.
func eachCallOf(fn *ssa.Function, visit func(ssa.CallInstruction)) {
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			if call, ok := instr.(ssa.CallInstruction); ok {
				visit(call)
			}
		}
	}
}
