package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"coapply.dev/cmd/ownlint/internal/flow"
	"coapply.dev/cmd/ownlint/internal/kube"
)

// narrowPatch returns the fix that turns client.Update of an object into a merge patch with resourceVersion:
//
//	base := object.DeepCopy()
//	controllerutil.AddFinalizer(object, finalizer)
//	err := c.Patch(ctx, object, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
//
// It returns nil where the copy cannot be placed before all changes: the changes and the write must be in one block of one
// function. The fix is also left out where the call has options, the file does not import the client package, or the
// object is not a plain variable or field. The controller needs the RBAC verb patch afterwards.
func (c *checker) narrowPatch(w flow.Write) []analysis.SuggestedFix {
	call := c.callExpr(w.Call)
	if call == nil || w.Request == nil || w.Verb != kube.Update || len(call.Args) != 2 {
		return nil
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	file := c.fileOf(call.Pos())
	if !ok || file == nil || !c.hasPatch(method.X) {
		return nil
	}
	pkg, copied := clientName(file), c.copyExpr(unaddressed(call.Args[1]))
	start := c.insertion(file, w, call)
	if pkg == "" || copied == "" || start == nil {
		return nil
	}
	name := c.freeName(call.Pos())
	indent := "\n" + strings.Repeat("\t", c.pass.Fset.Position(start.Pos()).Column-1)
	patch := fmt.Sprintf(", %s.MergeFromWithOptions(%s, %s.MergeFromWithOptimisticLock{})", pkg, name, pkg)
	return []analysis.SuggestedFix{{
		Message: "Send a merge patch with resourceVersion (the controller needs the RBAC verb patch)",
		TextEdits: []analysis.TextEdit{
			{Pos: start.Pos(), End: start.Pos(), NewText: []byte(name + " := " + copied + indent)},
			{Pos: method.Sel.Pos(), End: method.Sel.End(), NewText: []byte("Patch")},
			{Pos: call.Args[1].End(), End: call.Args[1].End(), NewText: []byte(patch)},
		},
	}}
}

func (c *checker) fileOf(pos token.Pos) *ast.File {
	for _, f := range c.pass.Files {
		if f.FileStart <= pos && pos < f.FileEnd {
			return f
		}
	}
	return nil
}

// hasPatch reports whether a client has the method Patch of controller-runtime.
func (c *checker) hasPatch(client ast.Expr) bool {
	m, _, _ := types.LookupFieldOrMethod(c.pass.TypesInfo.TypeOf(client), true, c.pass.Pkg, "Patch")
	fn, ok := m.(*types.Func)
	return ok && fn.Signature().Params().Len() == 4 && kube.IsNamed(fn.Signature().Params().At(2).Type(), kube.Client, "Patch")
}

// unaddressed returns the variable of an expression such as &object.
func unaddressed(e ast.Expr) ast.Expr {
	if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.AND {
		return u.X
	}
	return e
}

// copyExpr returns the expression that copies an object, "" if the object is no variable and no field of one.
func (c *checker) copyExpr(object ast.Expr) string {
	root := object
	for sel, ok := root.(*ast.SelectorExpr); ok; sel, ok = root.(*ast.SelectorExpr) {
		root = sel.X
	}
	if _, ok := root.(*ast.Ident); !ok || kube.TypedObject(c.pass.TypesInfo.TypeOf(object)) == nil {
		return ""
	}
	return types.ExprString(object) + ".DeepCopy()"
}

// clientName returns the name under which a file imports the client package, "" if it does not.
func clientName(file *ast.File) string {
	for _, spec := range file.Imports {
		if path, err := strconv.Unquote(spec.Path.Value); err != nil || path != kube.Client {
			continue
		}
		if spec.Name == nil {
			return "client"
		}
		if spec.Name.Name != "_" && spec.Name.Name != "." {
			return spec.Name.Name
		}
	}
	return ""
}

// insertion returns the statement before which the object must be copied: the statement of the first change, in the
// innermost block that holds the write and all changes.
func (c *checker) insertion(file *ast.File, w flow.Write, call *ast.CallExpr) ast.Stmt {
	first := call.Pos()
	for _, change := range c.ChangesBefore(w) {
		pos := change.Instr.Pos()
		if change.Instr.Parent() != w.Call.Parent() || !pos.IsValid() || pos > call.End() {
			return nil
		}
		first = min(first, pos)
	}
	list := enclosingStatements(file, first, call.Pos())
	i := slices.IndexFunc(list, func(s ast.Stmt) bool { return s.Pos() <= first && first < s.End() })
	if i < 0 {
		return nil
	}
	if _, named := list[i].(*ast.LabeledStmt); named || c.assignedAfter(w, list[i].Pos(), first) {
		return nil
	}
	return list[i]
}

// assignedAfter reports whether the variable receives its object, or the object is read, between two positions.
func (c *checker) assignedAfter(w flow.Write, start, end token.Pos) bool {
	assigned := c.ReadsOf(w)
	switch base := w.Place.Base.(type) {
	case *ssa.Extract:
		assigned = append(assigned, base.Tuple.(ssa.Instruction))
	case ssa.Instruction:
		assigned = append(assigned, base)
	}
	return slices.ContainsFunc(assigned, func(i ssa.Instruction) bool { return start <= i.Pos() && i.Pos() < end })
}

// enclosingStatements returns the statements of the innermost block that holds two positions in one function.
func enclosingStatements(file *ast.File, a, b token.Pos) []ast.Stmt {
	var found []ast.Stmt
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil || a < n.Pos() || b >= n.End() {
			return false
		}
		switch n := n.(type) {
		case *ast.BlockStmt:
			found = n.List
		case *ast.CaseClause:
			found = n.Body
		case *ast.CommClause:
			found = n.Body
		}
		return true
	})
	return found
}

// freeName returns a name that nothing in scope has.
func (c *checker) freeName(pos token.Pos) string {
	scope := c.pass.Pkg.Scope().Innermost(pos)
	for _, name := range []string{"base", "unchanged", "baseObject"} {
		if _, taken := scope.LookupParent(name, token.NoPos); taken == nil {
			return name
		}
	}
	return "ownlintBase"
}
