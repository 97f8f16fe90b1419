package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pkg is a package as printed by go list -json, with the mutants that were found in it.
type pkg struct {
	ImportPath, Name, Dir, Export string
	GoFiles                       []string
	TestGoFiles, XTestGoFiles     []string
	DepOnly                       bool
	Module                        *struct{ Dir string }

	exports map[string]string // export data files of the imported packages
	set     *token.FileSet
	info    *types.Info
	mutants []mutant
}

// load returns the packages that match the patterns.
func load(ctx context.Context, patterns []string) (found []*pkg, err error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	list := exec.CommandContext(ctx, "go", append([]string{"list", "-deps", "-export", "-json"}, patterns...)...)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	exports := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &pkg{exports: exports, set: token.NewFileSet()}
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			found = append(found, p)
		}
	}
}

// instrument writes the files of the package with all mutants into a folder, and returns the file for go's flag
// -overlay.
func (p *pkg) instrument(folder string) (overlay string, err error) {
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(p.set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return "", err
		}
		files = append(files, file)
	}
	p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: importer.ForCompiler(p.set, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(p.exports[path])
	})}
	if _, err := config.Check(p.ImportPath, p.set, files, p.info); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for i, file := range files {
		path := filepath.Join(p.Dir, p.GoFiles[i])
		if replace[path], err = p.instrumentFile(folder, path, file); err != nil {
			return "", err
		}
	}
	more := filepath.Join(folder, "switches.go")
	if err := os.WriteFile(more, []byte(switches(p.Name, len(p.mutants))), 0o600); err != nil {
		return "", err
	}
	replace[filepath.Join(p.Dir, "coapply_mutants.go")] = more
	content, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, content, 0o600)
}

func (p *pkg) instrumentFile(folder, path string, file *ast.File) (written string, err error) {
	f := &finder{pkg: p, opens: map[int]string{}, closes: map[int]string{}}
	if f.file, err = filepath.Rel(p.Module.Dir, path); err != nil {
		return "", err
	}
	if f.source, err = os.ReadFile(path); err != nil {
		return "", err
	}
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || function.Body == nil || ast.IsGenerated(file) {
			continue
		}
		f.within = function.Name.Name
		if function.Recv != nil {
			receiver, _, _ := strings.Cut(strings.TrimPrefix(f.text(function.Recv.List[0].Type), "*"), "[")
			f.within = receiver + "." + f.within
		}
		f.function(function.Type.Results, function.Body)
	}
	written = filepath.Join(folder, filepath.Base(path))
	return written, os.WriteFile(written, f.render(), 0o600)
}
