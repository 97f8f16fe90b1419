package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets go vet run the test program as its vet tool, as it runs ownlint.
func TestMain(m *testing.M) {
	if calledByVet(os.Args[1:]) {
		checkPackage(os.Args[len(os.Args)-1])
	}
	os.Exit(m.Run())
}

// inVendored runs a test in a copy of testdata/vendored.
func inVendored(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/vendored")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "-mod=vendor")
	t.Setenv("GOWORK", "off")
}

func TestRun(t *testing.T) {
	const finding = "operator/operator.go:25:9: wide-update: the write sends the whole Cache but changes only its finalizers; " +
		"encoding the Go type can also change .spec.memory"
	for _, test := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string // each is a part of the output; empty means no output
	}{
		{"a finding in a vendored tree", []string{"./operator"}, exitFindings, finding, ""},
		{"no Kubernetes", []string{"./plain"}, exitClean, "", "no package of ./plain depends on client-go"},
		{"a package that does not compile", []string{"./broken"}, exitFailed, "", "broken/broken.go:10:23: undefined: undefined\nownlint: the go command could not load"},
		{"the others are checked all the same", []string{"./broken", "./operator"}, exitFailed, finding, "broken/broken.go:10:23: undefined: undefined"},
		{"an import that does not compile", []string{"./importer"}, exitFailed, "", "# example.com/vendored/broken\nbroken/broken.go:10:23: undefined: undefined"},
		{"no such package", []string{"./absent"}, exitFailed, "", "absent: directory not found"},
		{"without the build tag", []string{"./tagged"}, exitClean, "", "no package of ./tagged depends on client-go"},
		{"with the build tag", []string{"-tags", "special", "./tagged"}, exitFindings, "tagged/special.go:16:9: wide-update", ""},
		{"generics", []string{"./generic"}, exitFindings, "generic/generic.go:48:9: wide-update", ""},
		{"unknown flag", []string{"-unknown"}, exitUsage, "", "flag provided but not defined"},
		{"unknown fix", []string{"-fix=fancy"}, exitUsage, "", "use -fix or -fix=plain"},
		{"help", []string{"-help"}, exitClean, "", "Exit codes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			inVendored(t)
			var stdout, stderr bytes.Buffer
			if code := run(test.args, &stdout, &stderr); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			checkOutput(t, "standard output", stdout.String(), test.stdout)
			checkOutput(t, "standard error", stderr.String(), test.stderr)
		})
	}
}

func checkOutput(t *testing.T, name, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) || want == "" && got != "" {
		t.Errorf("%s is %q, want %q in it", name, got, want)
	}
}

func TestHelpFitsOneScreen(t *testing.T) {
	var stderr bytes.Buffer
	run([]string{"-help"}, &stderr, &stderr)
	if n := strings.Count(stderr.String(), "\n"); n > 40 {
		t.Errorf("the help has %d lines", n)
	}
}

func TestSARIF(t *testing.T) {
	inVendored(t)
	var stdout, stderr bytes.Buffer
	run([]string{"-sarif", "./operator"}, &stdout, &stderr)
	var log struct {
		Runs []struct {
			Results []struct {
				RuleID    string
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	results := log.Runs[0].Results
	if len(results) != 1 || results[0].RuleID != "wide-update" || results[0].Locations[0].PhysicalLocation.ArtifactLocation.URI != "operator/operator.go" {
		t.Errorf("results: %+v", results)
	}
}

func TestFixCompiles(t *testing.T) {
	inVendored(t)
	var stdout, stderr bytes.Buffer
	if code := run([]string{"-fix=plain", "./operator"}, &stdout, &stderr); code != exitClean {
		t.Errorf("exit code %d: %s%s", code, &stdout, &stderr)
	}
	if out, err := exec.Command("go", "build", "./operator").CombinedOutput(); err != nil {
		t.Errorf("the fixed package does not compile: %v\n%s", err, out)
	}
	fixed, err := os.ReadFile("operator/operator.go")
	if err != nil || !strings.Contains(string(fixed), "base := cache.DeepCopy()\n\tcontrollerutil.AddFinalizer") {
		t.Errorf("%v\n%s", err, fixed)
	}
}

func TestVetTool(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "ownlint")
	if out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	inVendored(t)
	out, err := exec.Command("go", "vet", "-vettool="+tool, "./generic", "./operator").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "operator.go:25:9: wide-update") || !strings.Contains(string(out), "generic.go:48:9: wide-update") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestParseFailure: if a rule fails, the user gets the error of the rule.
func TestParseFailure(t *testing.T) {
	_, err := parse([]byte(`{"a": {"wide_update": {"error": "internal error of ownlint"}}}`))
	if err == nil || err.Error() != "internal error of ownlint" {
		t.Errorf("%v", err)
	}
}
