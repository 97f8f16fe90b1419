package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// mutant is one change to a file.
type mutant struct {
	number int // from 1
	place  token.Position
	name   string // as in known.txt
}

// finder finds the mutants of a file, and inserts their code into the text of the file. One mutant is active at a time.
type finder struct {
	*pkg

	file    string // relative to the module
	source  []byte
	within  string // the function that is searched
	results *ast.FieldList
	opens   map[int]string // text to insert at an offset, after the text of closes
	closes  map[int]string
}

// add records a mutant of the given node, and returns its number. The argument what describes the change.
func (f *finder) add(node ast.Node, what string) (number int) {
	number = len(f.mutants) + 1
	text := strings.Join(strings.Fields(f.text(node)), " ")
	if len(text) > 80 {
		text = text[:80] + "…"
	}
	place := f.set.Position(node.Pos())
	place.Filename = f.file
	f.mutants = append(f.mutants, mutant{number, place, f.file + " " + f.within + ": `" + text + "` " + what})
	return number
}

func (f *finder) text(node ast.Node) string {
	return string(f.source[f.offset(node.Pos()):f.offset(node.End())])
}

func (f *finder) offset(at token.Pos) int { return f.set.Position(at).Offset }

// wrap inserts text before and after a node. A second call for the node inserts inside the text of the first call.
func (f *finder) wrap(node ast.Node, before, after string) {
	f.opens[f.offset(node.Pos())] += before
	f.closes[f.offset(node.End())] = after + f.closes[f.offset(node.End())]
}

// render returns the text of the file with the code of all mutants.
func (f *finder) render() []byte {
	var out []byte
	for i := range len(f.source) + 1 {
		out = append(append(out, f.closes[i]...), f.opens[i]...)
		if i < len(f.source) {
			out = append(out, f.source[i])
		}
	}
	return out
}

// function finds the mutants in the body of a function, and in the function literals in this body.
func (f *finder) function(results *ast.FieldList, body *ast.BlockStmt) {
	outer := f.results
	f.results = results
	ast.Inspect(body, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.FuncLit:
			f.function(n.Type.Results, n.Body)
			return false
		case *ast.GenDecl:
			return n.Tok == token.VAR
		case *ast.BlockStmt:
			f.statements(n.List)
		case *ast.CaseClause:
			f.statements(n.Body)
		case *ast.CommClause:
			f.statements(n.Body)
		case *ast.IfStmt:
			f.condition(n.Cond, true)
		case *ast.ForStmt:
			if n.Cond != nil {
				f.condition(n.Cond, false)
			}
		case *ast.SwitchStmt:
			f.cases(n)
		case *ast.ReturnStmt:
			f.returned(n)
		case *ast.BinaryExpr:
			f.operator(n)
		}
		return true
	})
	f.results = outer
}

func (f *finder) cases(n *ast.SwitchStmt) {
	if n.Tag != nil {
		return
	}
	for _, clause := range n.Body.List {
		for _, condition := range clause.(*ast.CaseClause).List {
			f.condition(condition, true)
		}
	}
}

// condition adds a mutant for each operand of a condition: always false, and if mayHold is set, always true. For a
// loop, mayHold is not set, because the loop would never end.
func (f *finder) condition(e ast.Expr, mayHold bool) {
	switch n := e.(type) {
	case *ast.ParenExpr:
		f.condition(n.X, mayHold)
		return
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.condition(n.X, mayHold)
			return
		}
	case *ast.BinaryExpr:
		if n.Op == token.LAND || n.Op == token.LOR {
			f.condition(n.X, mayHold)
			f.condition(n.Y, mayHold)
			return
		}
	}
	if !f.isBool(e) {
		return
	}
	before := ""
	if mayHold {
		before = fmt.Sprintf("coapplyMutant(%d) || ", f.add(e, "is always true"))
	}
	f.wrap(e, fmt.Sprintf("(%s!coapplyMutant(%d) && (", before, f.add(e, "is always false")), "))")
}

func (f *finder) isBool(e ast.Expr) bool {
	is := f.info.Types[e]
	return is.Value == nil && (is.Type == types.Typ[types.Bool] || is.Type == types.Typ[types.UntypedBool])
}

// isZero reports whether e is a string or numeric constant with the zero value.
func (f *finder) isZero(e ast.Expr) bool {
	switch is := f.info.Types[e].Value; {
	case is == nil:
		return false
	case is.Kind() == constant.String:
		return constant.StringVal(is) == ""
	default:
		return constant.Sign(is) == 0
	}
}

var otherBound = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}

// operator adds a mutant that exchanges < and <=, > and >=, or + and -.
func (f *finder) operator(n *ast.BinaryExpr) {
	is := f.info.Types[n]
	basic, _ := types.Unalias(is.Type).Underlying().(*types.Basic)
	switch bound := otherBound[n.Op]; {
	case is.Value != nil || basic == nil || calls(n):
	case bound != "" && basic.Info()&types.IsBoolean != 0:
		number := f.add(n, "has "+bound)
		f.wrap(n, fmt.Sprintf("(coapplyMutant(%d) && (%s)%s(%s) || !coapplyMutant(%d) && (", number, f.text(n.X), bound, f.text(n.Y), number), "))")
	case n.Op == token.ADD && basic.Info()&types.IsNumeric != 0:
		f.wrap(n, fmt.Sprintf("coapplyMutantOf(%d, %s-(%s), ", f.add(n, "has -"), f.text(n.X), f.text(n.Y)), ")")
	case n.Op == token.SUB && basic.Info()&types.IsNumeric != 0:
		f.wrap(n, fmt.Sprintf("coapplyMutantOf(%d, %s+(%s), ", f.add(n, "has +"), f.text(n.X), f.text(n.Y)), ")")
	}
}

// calls reports whether n contains a call other than len, so that a second evaluation of n may have side effects.
func calls(n ast.Node) (found bool) {
	ast.Inspect(n, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok {
			name, ok := call.Fun.(*ast.Ident)
			found = found || !ok || name.Name != "len"
		}
		return !found
	})
	return found
}

// statements adds a mutant for each statement that can be removed.
func (f *finder) statements(all []ast.Stmt) {
	for _, s := range all {
		switch n := s.(type) {
		case *ast.ExprStmt:
			if call, ok := n.X.(*ast.CallExpr); ok {
				if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "panic" {
					continue // it may end a function
				}
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE || f.text(n.Lhs[0]) == "_" {
				continue
			}
		case *ast.BranchStmt:
			if n.Tok == token.FALLTHROUGH || n.Tok == token.GOTO {
				continue
			}
		case *ast.IncDecStmt, *ast.DeferStmt:
		default:
			continue
		}
		f.wrap(s, fmt.Sprintf("if !coapplyMutant(%d) {", f.add(s, "is removed")), "}")
	}
}

// returned adds mutants of a return statement: true and false are negated, other conditions become always true or
// always false, and any other result becomes zero.
func (f *finder) returned(n *ast.ReturnStmt) {
	if f.results == nil {
		return
	}
	var kinds []ast.Expr
	for _, field := range f.results.List {
		for range max(1, len(field.Names)) {
			kinds = append(kinds, field.Type)
		}
	}
	if len(kinds) != len(n.Results) {
		return
	}
	for i, e := range n.Results {
		switch text := f.text(e); {
		case text == "true" || text == "false":
			f.wrap(e, "(", fmt.Sprintf(") != coapplyMutant(%d)", f.add(n, "is negated")))
		case f.text(kinds[i]) == "bool":
			f.condition(e, true)
		case text == "nil" || strings.HasSuffix(text, "{}") || f.isZero(e):
		default:
			f.wrap(e, fmt.Sprintf("coapplyMutantZero[%s](%d, func() %s { return ", f.text(kinds[i]), f.add(e, "is returned as zero"), f.text(kinds[i])), "})")
		}
	}
}
