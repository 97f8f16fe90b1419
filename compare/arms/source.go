package arms

import (
	"embed"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
	"sync"
)

// files are the source files of this package.
//
//go:embed *.go
var files embed.FS

// source returns the source code of the named functions and types of this package, including the methods of the
// types. It returns "" if any of the names is not declared.
func source(names ...string) string {
	var parts []string
	for _, name := range names {
		code := declarations()[name]
		if len(code) == 0 {
			return ""
		}
		parts = append(parts, code...)
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// declarations returns the code of all functions and types of this package, by their names.
var declarations = sync.OnceValue(func() map[string][]string {
	found := map[string][]string{}
	names, err := fs.Glob(files, "*.go")
	if err != nil {
		return nil
	}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil || strings.HasSuffix(name, "_test.go") {
			continue
		}
		positions := token.NewFileSet()
		file, err := parser.ParseFile(positions, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			continue // impossible: the compiler has accepted this file
		}
		for _, declaration := range file.Decls {
			if name, begin := declared(declaration); name != "" {
				code := text[positions.Position(begin).Offset:positions.Position(declaration.End()).Offset]
				found[name] = append(found[name], string(code))
			}
		}
	}
	return found
})

// declared returns the name of a function or type, and the start of its declaration including the comment. For a
// method, it returns the name of the receiver's type.
func declared(declaration ast.Decl) (name string, begin token.Pos) {
	begin = declaration.Pos()
	var comment *ast.CommentGroup
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		name, comment = d.Name.Name, d.Doc
		if d.Recv != nil {
			name = receiver(d.Recv.List[0].Type)
		}
	case *ast.GenDecl:
		comment = d.Doc
		if d.Tok != token.TYPE {
			break
		}
		if kind, ok := d.Specs[0].(*ast.TypeSpec); ok {
			name = kind.Name.Name
		}
	}
	if comment != nil {
		begin = comment.Pos()
	}
	return name, begin
}

func receiver(kind ast.Expr) string {
	switch of := kind.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr: // a type with a type parameter
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}
