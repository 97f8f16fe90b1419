package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"coapply.dev/cmd/ownlint/internal/flow"
)

// packagesOf holds the packages to check, and why some cannot be checked.
type packagesOf struct {
	analysed []*packages.Package // with syntax: the named packages, and dependencies that use Kubernetes
	named    map[string]bool     // import paths of the packages that the user named
	failures []string            // why packages cannot be checked
	note     string              // why there is nothing to check
}

// load loads the named packages, and from source also their dependencies that use Kubernetes: their functions and the
// markers of their types matter. Other dependencies are loaded from compiled export data.
func load(s settings) (*packagesOf, error) {
	list := &packages.Config{Mode: packages.NeedName | packages.NeedImports | packages.NeedDeps}
	full := &packages.Config{Mode: packages.LoadSyntax | packages.NeedModule}
	if s.tags != "" {
		list.BuildFlags = []string{"-tags=" + s.tags}
		full.BuildFlags = list.BuildFlags
	}
	roots, err := packages.Load(list, s.patterns...)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", strings.Join(s.patterns, " "), err)
	}
	p := &packagesOf{named: make(map[string]bool)}
	for _, root := range roots {
		p.named[root.PkgPath] = true
	}
	paths := usesKubernetes(roots)
	if !p.anyNamed(paths) {
		p.fail(roots)
		if len(p.failures) == 0 {
			p.note = fmt.Sprintf("no package of %s depends on client-go, controller-runtime or Kubernetes API types, so no rule applies", strings.Join(s.patterns, " "))
		}
		return p, nil
	}
	loaded, err := packages.Load(full, paths...)
	if err != nil {
		return nil, fmt.Errorf("loading %s: %w", strings.Join(s.patterns, " "), err)
	}
	p.fail(loaded)
	for _, pkg := range loaded {
		if len(pkg.Errors) == 0 && !pkg.IllTyped {
			p.analysed = append(p.analysed, pkg)
		}
	}
	p.prune()
	return p, nil
}

func (p *packagesOf) anyNamed(paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return p.named[path] })
}

// usesKubernetes returns the import paths of packages and their dependencies that import a Kubernetes module, directly or
// not, without the modules themselves.
func usesKubernetes(roots []*packages.Package) []string {
	uses := make(map[string]bool)
	packages.Visit(roots, nil, func(pkg *packages.Package) {
		for _, imported := range pkg.Imports {
			if flow.IsKubernetes(imported.PkgPath) || uses[imported.PkgPath] {
				uses[pkg.PkgPath] = !flow.IsKubernetes(pkg.PkgPath)
			}
		}
		if len(pkg.Errors) > 0 && slices.Contains(roots, pkg) {
			uses[pkg.PkgPath] = true
		}
	})
	maps.DeleteFunc(uses, func(_ string, use bool) bool { return !use })
	return slices.Sorted(maps.Keys(uses))
}

// maxErrors is how many errors of one package are printed.
const maxErrors = 3

// fail records why named packages cannot be checked.
func (p *packagesOf) fail(pkgs []*packages.Package) {
	for _, pkg := range pkgs {
		if !p.named[pkg.PkgPath] {
			continue
		}
		for _, err := range pkg.Errors[:min(maxErrors, len(pkg.Errors))] {
			p.failures = append(p.failures, fmt.Sprintf("cannot check %s: %s", pkg.PkgPath, relative(strings.TrimPrefix(err.Error(), "-: "))))
		}
		if len(pkg.Errors) == 0 && pkg.IllTyped {
			p.failures = append(p.failures, fmt.Sprintf("cannot check %s: a package that it imports does not compile", pkg.PkgPath))
		}
	}
}

// prune removes the packages without syntax from the imports, so that the checker runs no rule on export data.
func (p *packagesOf) prune() {
	keep := make(map[*packages.Package]bool)
	for _, pkg := range p.analysed {
		keep[pkg] = true
	}
	for _, pkg := range p.analysed {
		maps.DeleteFunc(pkg.Imports, func(_ string, imported *packages.Package) bool { return !keep[imported] })
	}
}
