package flow

import (
	"go/ast"
	"go/types"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"coapply.dev/cmd/ownlint/internal/spelling"
)

// buildFunctions builds the package in SSA form. The analyzer buildssa would build every dependency too, among them
// packages that have nothing to do with Kubernetes.
func buildFunctions(pass *analysis.Pass) []*ssa.Function {
	prog := ssa.NewProgram(pass.Fset, ssa.BuilderMode(0))
	for _, imported := range pass.Pkg.Imports() {
		prog.CreatePackage(imported, nil, nil, true)
	}
	pkg := prog.CreatePackage(pass.Pkg, pass.Files, pass.TypesInfo, false)
	pkg.Build()
	var functions []*ssa.Function
	for _, file := range pass.Files {
		if ignored(pass, file) {
			continue
		}
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok {
				fn, _ := pass.TypesInfo.Defs[d.Name].(*types.Func)
				if f := prog.FuncValue(fn); f != nil {
					functions = append(functions, WithLiterals(f)...)
				}
			}
		}
	}
	return functions
}

// WithLiterals returns a function and the function literals in it.
func WithLiterals(fn *ssa.Function) []*ssa.Function {
	list := []*ssa.Function{fn}
	for _, literal := range fn.AnonFuncs {
		list = append(list, WithLiterals(literal)...)
	}
	return list
}

// ignored reports whether the rules skip a file: a test file, where no other client writes, or generated code.
func ignored(pass *analysis.Pass, file *ast.File) bool {
	return strings.HasSuffix(pass.Fset.File(file.FileStart).Name(), "_test.go") || ast.IsGenerated(file)
}

// fieldMarkers is the fact of a struct field that has kubebuilder markers.
type fieldMarkers spelling.Markers

func (*fieldMarkers) AFact() {}

var (
	optionalMarker = regexp.MustCompile(`(?m)^\s*\+(optional|kubebuilder:validation:Optional|k8s:optional)\s*$`)
	defaultMarker  = regexp.MustCompile(`(?m)^\s*\+(?:kubebuilder:)?default(?::value)?=(.+)$`)
	zeroDefault    = regexp.MustCompile("^(\"\"|``|''|0|false|\\{\\}|\\[\\])$")
)

// exportMarkers exports the markers of the fields of the package's structs.
func exportMarkers(pass *analysis.Pass) {
	for _, file := range pass.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range s.Fields.List {
				exportFieldMarkers(pass, field)
			}
			return true
		})
	}
}

func exportFieldMarkers(pass *analysis.Pass, field *ast.Field) {
	if field.Doc == nil {
		return
	}
	text := markerText(field.Doc)
	value := defaultMarker.FindStringSubmatch(text)
	marks := fieldMarkers{
		Optional: optionalMarker.MatchString(text),
		Default:  len(value) > 0 && !zeroDefault.MatchString(strings.TrimSpace(value[1])),
	}
	if marks == (fieldMarkers{}) {
		return
	}
	for _, name := range field.Names {
		if v, ok := pass.TypesInfo.Defs[name].(*types.Var); ok && v.Pkg() == pass.Pkg && v.Exported() {
			pass.ExportObjectFact(v, &marks)
		}
	}
}

// markerText returns the lines of a comment, markers included.
func markerText(doc *ast.CommentGroup) string {
	var lines []string
	for _, c := range doc.List {
		lines = append(lines, strings.TrimPrefix(c.Text, "//"))
	}
	return strings.Join(lines, "\n")
}
