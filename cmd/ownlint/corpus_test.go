package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The corpus is the operators of modules.txt. The operators of a paragraph are built with the same versions of their
// dependencies, so that these are compiled once. findings.txt has each finding in them, and for a random sample whether the
// finding is true, and why: "MODULE FILE:LINE RULE", then "true" or "false", and the reason.
const (
	modulesFile  = "testdata/corpus/modules.txt"
	findingsFile = "testdata/corpus/findings.txt"
	sampleSize   = 60
)

// TestCorpus downloads and compiles each module of the corpus and compares the findings with the committed findings. It
// takes most of an hour, so only `make corpus` runs it. With COAPPLY_CORPUS=update it writes the findings.
func TestCorpus(t *testing.T) {
	mode := os.Getenv("COAPPLY_CORPUS")
	if mode == "" {
		t.Skip("make corpus runs this test")
	}
	judged := judgements(t)
	content, err := os.ReadFile(modulesFile)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for group := range strings.SplitSeq(strings.TrimSpace(string(content)), "\n\n") {
		t.Run(strings.Fields(group)[0], func(t *testing.T) { lines = append(lines, check(t, strings.Split(group, "\n"))...) })
	}
	var text strings.Builder
	for _, line := range lines {
		fmt.Fprintln(&text, strings.TrimSpace(line+" "+judged[line]))
	}
	if mode == "update" {
		if err := os.WriteFile(findingsFile, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if committed, err := os.ReadFile(findingsFile); err != nil || string(committed) != text.String() {
		t.Errorf("%s differs from what ownlint finds now (COAPPLY_CORPUS=update writes it): %v\n%s", findingsFile, err, text.String())
	}
}

// check returns the findings in the modules of a paragraph, without judgements.
func check(t *testing.T, modules []string) (lines []string) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("GOFLAGS", "-mod=mod")
	goCommand := func(args ...string) string {
		cmd := exec.Command("go", args...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, &stderr)
		}
		return strings.TrimSpace(string(out))
	}
	goCommand("mod", "init", "corpus.example.com")
	for _, module := range modules {
		goCommand("mod", "edit", "-require="+strings.ReplaceAll(module, " ", "@"))
	}
	for _, module := range modules {
		path, _, _ := strings.Cut(module, " ")
		root := goCommand("list", "-m", "-f", "{{.Dir}}", path)
		// Packages that import what the module proxy does not serve are left out.
		packages := strings.Fields(goCommand("list", "-e", "-f", "{{if not (or .Error .DepsErrors)}}{{.ImportPath}}{{end}}", path+"/..."))
		start := time.Now()
		var stderr bytes.Buffer
		found, complete, err := vet(settings{patterns: packages}, &stderr)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d packages, %d findings in %.0f s, complete: %t\n%s", module, len(packages), len(found), time.Since(start).Seconds(), complete, &stderr)
		for _, f := range found {
			file := strings.TrimPrefix(f.file, root+string(filepath.Separator))
			lines = append(lines, fmt.Sprintf("%s %s:%d %s", path, file, f.line, f.rule))
			t.Logf("%s:%d: %s", f.file, f.line, f.message)
		}
	}
	return slices.Compact(lines)
}

func linesOf(t *testing.T, file string) []string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}

// judgements returns the judgement of each finding in findings.txt, "" if there is none.
func judgements(t *testing.T) map[string]string {
	t.Helper()
	judged := map[string]string{}
	for _, line := range linesOf(t, findingsFile) {
		if words := strings.SplitN(line, " ", 4); len(words) >= 3 {
			judged[strings.Join(words[:3], " ")] = strings.Join(words[3:], " ")
		}
	}
	return judged
}

// TestPrecision requires a judgement of each finding of a random sample, of which at least 90 % must be true, and the table of
// findings in docs/ownlint.md. The order of
// the hashes of the findings is the random order, so nobody chooses the sample.
func TestPrecision(t *testing.T) {
	judged := judgements(t)
	hash := func(line string) string {
		sum := sha256.Sum256([]byte(line))
		return hex.EncodeToString(sum[:])
	}
	findings := slices.SortedFunc(maps.Keys(judged), func(a, b string) int { return strings.Compare(hash(a), hash(b)) })
	sample := findings[:min(sampleSize, len(findings))]
	var right int
	for _, finding := range sample {
		word, reason, _ := strings.Cut(judged[finding], " ")
		if word != "true" && word != "false" || reason == "" {
			t.Errorf("not judged: %s", finding)
		}
		if word == "true" {
			right++
		}
	}
	if right*10 < len(sample)*9 {
		t.Errorf("%d of %d findings are true, less than 90 %%", right, len(sample))
	}
	document, err := os.ReadFile("../../docs/ownlint.md")
	if err != nil {
		t.Fatal(err)
	}
	found, confirmed := map[string]int{}, map[string]int{}
	for finding, judgement := range judged {
		rule := finding[strings.LastIndex(finding, " ")+1:]
		found[rule]++
		if strings.HasPrefix(judgement, "true ") {
			confirmed[rule]++
		}
	}
	for rule := range found {
		if row := fmt.Sprintf("\n| %s | %d | %d |\n", rule, found[rule], confirmed[rule]); !strings.Contains(string(document), row) {
			t.Errorf("docs/ownlint.md lacks the row %q", row)
		}
	}
}
