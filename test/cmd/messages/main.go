// Command messages lists the texts that the library and its programs print: errors, logs, events, conditions, help and
// flags. A reader who does not know the code then reads them in one piece, as docs of the texts that users see.
//
//	go run ./test/cmd/messages [FOLDER...]    default: all folders of the checkout
//
// It finds string literals in the arguments of calls whose names are listed in printers, in fields whose names are listed
// in fields, and in constants and variables whose names end in Message or usage. Formatting verbs stay as they are.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

var (
	// printers are functions and methods whose string arguments people read. The prefix of a flag's method is enough.
	printers = []string{
		"Errorf", "New", "Fprintf", "Fprintln", "Printf", "Sprintf", "UsageError", "Info", "Error", "Eventf", "Event", "usagef", "fail", "Say",
		"Invalid", "Wrap", "WithMessage", "StringVar", "StringVarP", "BoolVar", "IntVar", "DurationVar", "StringSliceVar", "StringSliceVarP",
		"IntSliceVar", "DurationSliceVar", "Float64Var", "Uint64Var", "OneOf", "section", "Fatal", "Fatalf",
	}
	fields = []string{"Message", "MessageExpression", "Short", "Long", "Example", "Use", "Usage", "Doc", "Reason", "Text", "Advice", "text", "why", "message"}
)

func main() {
	folders := os.Args[1:]
	if len(folders) == 0 {
		folders = []string{"."}
	}
	for _, folder := range folders {
		if err := list(folder); err != nil {
			fmt.Fprintln(os.Stderr, "messages:", err)
			os.Exit(1)
		}
	}
}

func list(folder string) error {
	return fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && (name == "testdata" || name == "test" || name == ".git" || name == "applyconfiguration" || name == "examples"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "zz_"):
			return nil
		}
		return listFile(filepath.Join(folder, path))
	})
}

func listFile(path string) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		return err
	}
	show := func(of ast.Expr) {
		if text := textOf(of); strings.ContainsRune(strings.TrimSpace(text), ' ') { // one word is a key or a name
			fmt.Printf("%s:%d: %s\n", path, set.Position(of.Pos()).Line, strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    "))
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if slices.Contains(printers, nameOf(n.Fun)) {
				for _, argument := range n.Args {
					show(argument)
				}
			}
		case *ast.KeyValueExpr:
			if slices.Contains(fields, nameOf(n.Key)) {
				show(n.Value)
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) && (strings.HasSuffix(strings.ToLower(name.Name), "message") || name.Name == "usage") {
					show(n.Values[i])
				}
			}
		}
		return true
	})
	return nil
}

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// textOf returns the text of a string literal, or of literals joined by +, in which … stands for what is not a literal. It
// returns "" for other expressions.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ := strconv.Unquote(e.Value) // the parser accepts valid literals only
			return text
		}
	case *ast.ParenExpr:
		return textOf(e.X)
	case *ast.BinaryExpr:
		if left, right := textOf(e.X), textOf(e.Y); e.Op == token.ADD && left+right != "" {
			if left == "" {
				left = "…"
			}
			if right == "" {
				right = "…"
			}
			return left + right
		}
	}
	return ""
}
