// Package flow follows API objects through the functions of one package in SSA form: where each object comes from, which
// of its fields a function changes, and which requests send the object. What callers in other packages need is exported
// as facts.
package flow

import (
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"coapply.dev/cmd/ownlint/internal/kube"
	"coapply.dev/cmd/ownlint/internal/spelling"
)

// Analyzer computes the Package that all rules read.
var Analyzer = &analysis.Analyzer{
	Name:       "ownlintflow",
	Doc:        "follow API objects through the functions of a package, for the rules of ownlint",
	Run:        run,
	ResultType: reflect.TypeFor[*Package](),
	FactTypes:  []analysis.Fact{new(Effects), new(fieldMarkers), new(usesKubernetes)},
}

// Package is the analysed package. Functions is empty if the package reaches no Kubernetes module.
type Package struct {
	Functions []*ssa.Function // the functions and function literals of the source, without tests and generated files

	pass    *analysis.Pass
	effects map[*ssa.Function]*Effects
	bodies  map[*ssa.Function]*Body
}

// modules define clients and API types. What their functions do is built into this package.
var modules = []string{
	"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "k8s.io/apiextensions-apiserver", kube.Runtime,
}

// IsKubernetes reports whether a package belongs to a module that defines clients or API types.
func IsKubernetes(path string) bool {
	return slices.ContainsFunc(modules, func(m string) bool { return path == m || strings.HasPrefix(path, m+"/") })
}

// usesKubernetes is the fact of a package that imports a Kubernetes module, directly or not, and is part of none.
type usesKubernetes struct{}

func (*usesKubernetes) AFact() {}

// isRelevant reports whether a package is worth analysing: it uses Kubernetes.
func isRelevant(pass *analysis.Pass) bool {
	return !IsKubernetes(kube.Path(pass.Pkg)) && slices.ContainsFunc(pass.Pkg.Imports(), func(imported *types.Package) bool {
		return IsKubernetes(kube.Path(imported)) || pass.ImportPackageFact(imported, new(usesKubernetes))
	})
}

// Recover turns a panic of an analyzer into an error, so that one surprising package does not end the whole run.
func Recover(pass *analysis.Pass, err *error) { //nolint:gocritic // a deferred function sets the error of its caller
	if r := recover(); r != nil {
		*err = fmt.Errorf("internal error of ownlint: analyzer %s failed in package %s: %v; please report the error to the maintainers of ownlint",
			pass.Analyzer, pass.Pkg.Path(), r)
	}
}

func run(pass *analysis.Pass) (_ any, err error) {
	defer Recover(pass, &err)
	p := &Package{pass: pass, effects: make(map[*ssa.Function]*Effects), bodies: make(map[*ssa.Function]*Body)}
	if len(pass.Files) == 0 || !isRelevant(pass) {
		return p, nil
	}
	pass.ExportPackageFact(new(usesKubernetes))
	exportMarkers(pass)
	p.Functions = buildFunctions(pass)
	for _, fn := range p.Functions {
		obj, ok := fn.Object().(*types.Func)
		if e := p.effectsOf(fn); ok && e.any() {
			pass.ExportObjectFact(obj, e)
		}
	}
	return p, nil
}

// Spelling returns the fields of a type that a JSON round trip may change.
func (p *Package) Spelling(object *types.Named) []spelling.Change {
	return spelling.Of(object, func(f *types.Var) spelling.Markers {
		var fact fieldMarkers
		if f.Pkg() != nil && p.pass.ImportObjectFact(f.Origin(), &fact) {
			return spelling.Markers(fact)
		}
		return spelling.Markers{}
	})
}
