package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"coapply.dev/cmd/ownlint/rules"
)

// Exit codes, the same as those of other go/analysis commands.
const (
	exitClean    = 0
	exitFailed   = 1
	exitUsage    = 2
	exitFindings = 3
)

const usage = `ownlint finds writes of Kubernetes controllers that take fields of other field managers or lose updates.

Usage:
  ownlint [-fix] [-sarif] [-tags LIST] [PACKAGE...]     default package: ./...
  go vet -vettool=/path/to/ownlint ./...

Examples:
  ownlint ./...                    print the findings as text
  ownlint -sarif ./... > out.sarif print the findings as SARIF 2.1.0
  ownlint -fix ./internal/...      apply the safe fixes, print the remaining findings

Flags:
  -fix, -fix=plain  turn updates into merge patches with resourceVersion; add the optimistic
                    lock to merge patches of lists; the fixed code needs the RBAC verb patch
  -sarif            print SARIF
  -tags LIST        comma-separated build tags
  -version          print the version

Rules:
%s
A comment "//ownlint:ignore RULE reason" on the line of a finding, or on the line above, removes the finding.
Test files and generated files are not checked.

Exit codes: 0 no findings, 1 a package could not be checked, 2 wrong usage, 3 findings.
`

// fixFlag is the flag -fix, which may have the value plain.
type fixFlag bool

func (f *fixFlag) String() string   { return "" }
func (f *fixFlag) IsBoolFlag() bool { return true }
func (f *fixFlag) Set(value string) error {
	if value != "true" && value != "plain" {
		return errors.New("use -fix or -fix=plain")
	}
	*f = true
	return nil
}

type settings struct {
	fix      fixFlag
	sarif    bool
	tags     string
	version  bool
	patterns []string
}

// run runs the command with its arguments and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	s, err := parseFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitClean
	}
	if err != nil {
		return exitUsage
	}
	if s.version {
		info, _ := debug.ReadBuildInfo() // every build with modules has a BuildInfo
		fmt.Fprintln(stdout, "ownlint", info.Main.Version, info.GoVersion)
		return exitClean
	}
	found, complete, err := vet(s, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "ownlint: %v\n", err)
		return exitFailed
	}
	show := printText
	if s.sarif {
		show = printSARIF
	}
	if err := show(stdout, found); err != nil {
		fmt.Fprintf(stderr, "ownlint: writing the findings: %v\n", err)
		return exitFailed
	}
	switch {
	case !complete:
		fmt.Fprintln(stderr, "ownlint: the go command could not load the packages named above, so they were not checked; correct their errors and run ownlint again")
		return exitFailed
	case len(found) > 0:
		return exitFindings
	}
	return exitClean
}

func printText(w io.Writer, found []finding) error {
	for _, f := range found {
		if _, err := fmt.Fprintf(w, "%s:%d:%d: %s\n", f.file, f.line, f.column, f.message); err != nil {
			return err
		}
	}
	return nil
}

func parseFlags(args []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("ownlint", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprintf(stderr, usage, ruleList()) }
	flags.Var(&s.fix, "fix", "")
	flags.BoolVar(&s.sarif, "sarif", false, "")
	flags.StringVar(&s.tags, "tags", "", "")
	flags.BoolVar(&s.version, "version", false, "")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	s.patterns = flags.Args()
	if len(s.patterns) == 0 {
		s.patterns = []string{"./..."}
	}
	return s, nil
}

func ruleList() string {
	var text strings.Builder
	for _, a := range rules.All() {
		fmt.Fprintf(&text, "  %-18s%s\n", rules.NameOf(a), a.Doc)
	}
	return text.String()
}
