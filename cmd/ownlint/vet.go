package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"coapply.dev/cmd/ownlint/internal/flow"
)

// finding is one diagnostic of a rule.
type finding struct {
	file          string // relative to the working directory, where possible
	line, column  int
	rule, message string
}

// vet lets `go vet` run ownlint as its vet tool, and returns the findings. The go command loads the packages, applies the
// fixes and caches the results. It prints to stderr why a package cannot be checked; then complete is false.
func vet(s settings, stderr io.Writer) (found []finding, complete bool, err error) {
	tool, err := os.Executable()
	if err != nil {
		return nil, false, fmt.Errorf("finding the program file of ownlint, which go vet runs: %w", err)
	}
	args := append([]string{"vet", "-vettool=" + tool, "-tags=" + s.tags}, s.patterns...)
	if s.fix {
		if _, _, err := goCommand(stderr, slices.Insert(slices.Clone(args), 1, "-fix")); err != nil {
			return nil, false, err
		}
	}
	out, complete, err := goCommand(stderr, slices.Insert(args, 1, "-json"))
	if err != nil {
		return nil, false, err
	}
	found, err = parse(out)
	if len(found) == 0 && complete && err == nil {
		err = noteKubernetes(s, stderr)
	}
	return found, complete, err
}

// goCommand runs the go command and returns what it printed, and whether it succeeded.
func goCommand(stderr io.Writer, args []string) (out []byte, succeeded bool, err error) {
	cmd := exec.Command("go", args...)
	cmd.Stderr = stderr
	out, err = cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return out, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("running go %s, which loads the packages: %w", args[0], err)
	}
	return out, true, nil
}

var position = regexp.MustCompile(`^(.*):(\d+):(\d+)$`)

// parse reads the JSON of `go vet -json` for each package: the diagnostics of each analyzer.
func parse(out []byte) ([]finding, error) {
	wd, _ := os.Getwd()
	seen := make(map[finding]bool) // a package with tests is checked twice
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var packages map[string]map[string]json.RawMessage
		err := decoder.Decode(&packages)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading the output of go vet: %w", err)
		}
		for _, analyzers := range packages {
			for _, result := range analyzers {
				var diagnostics []struct{ Category, Posn, Message string }
				var failure struct{ Error string }
				if err := json.Unmarshal(result, &failure); err == nil {
					return nil, errors.New(failure.Error) // of a rule that failed
				}
				if err := json.Unmarshal(result, &diagnostics); err != nil {
					return nil, fmt.Errorf("reading the output of go vet: %w", err)
				}
				for _, d := range diagnostics {
					f := finding{file: d.Posn, rule: d.Category, message: d.Message}
					if at := position.FindStringSubmatch(d.Posn); at != nil {
						f.file = strings.TrimPrefix(at[1], wd+string(os.PathSeparator))
						f.line, _ = strconv.Atoi(at[2])
						f.column, _ = strconv.Atoi(at[3])
					}
					seen[f] = true
				}
			}
		}
	}
	var found []finding
	for f := range seen {
		found = append(found, f)
	}
	slices.SortFunc(found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column), cmp.Compare(a.message, b.message))
	})
	return found, nil
}

// noteKubernetes tells the user if there are no findings because no package uses Kubernetes.
func noteKubernetes(s settings, stderr io.Writer) error {
	out, succeeded, err := goCommand(stderr, append([]string{"list", "-deps", "-tags=" + s.tags}, s.patterns...))
	if succeeded && !slices.ContainsFunc(strings.Fields(string(out)), flow.IsKubernetes) {
		fmt.Fprintf(stderr, "ownlint: no package of %s depends on client-go, controller-runtime or Kubernetes API types, so no rule applies\n",
			strings.Join(s.patterns, " "))
	}
	return err
}

// skip reports whether the go command asks only for the facts of a package that has none, because it uses no Kubernetes module
// or is part of one. It has then written the empty file that stands for no facts. Otherwise ownlint would parse every
// dependency, among them most of the standard library.
func skip(config string) bool {
	var cfg struct {
		VetxOnly                 bool
		ImportPath, VetxOutput   string
		PackageFile, PackageVetx map[string]string
	}
	content, err := os.ReadFile(config) //nolint:gosec // the go command names the file
	if err != nil || json.Unmarshal(content, &cfg) != nil || !cfg.VetxOnly {
		return false
	}
	if !flow.IsKubernetes(cfg.ImportPath) {
		for path := range cfg.PackageFile {
			if flow.IsKubernetes(path) {
				return false
			}
		}
		for _, facts := range cfg.PackageVetx {
			if info, err := os.Stat(facts); err != nil || info.Size() > 0 {
				return false
			}
		}
	}
	return os.WriteFile(cfg.VetxOutput, nil, 0o600) == nil
}
