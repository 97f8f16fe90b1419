package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coapply.dev/internal/localcluster"
)

// What go test -json writes, shortened. The parent of a failed subtest fails too.
const events = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA/one","Output":"one is wrong\n"}
{"Action":"fail","Package":"p","Test":"TestA/one","Elapsed":0.1}
{"Action":"pass","Package":"p","Test":"TestA/two"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB/one"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p","Test":"TestC/one/deep"}
{"Action":"pass","Package":"p","Test":"TestC/one"}
{"Action":"pass","Package":"p","Test":"TestC"}
{"Action":"skip","Package":"p","Test":"TestD"}
{"Action":"fail","Package":"p"}
`

func TestReadResults(t *testing.T) {
	for _, test := range []struct {
		reason, events string
		want           results
	}{
		{"a test is counted where it has no subtests, or where it failed by itself", events, results{
			"TestA/one": "fail", "TestA/two": "pass", "TestB": "fail", "TestB/one": "pass", "TestC/one/deep": "pass", "TestD": "skip"}},
		{"a package that does not compile is no silence", `{"Action":"fail","Package":"p","FailedBuild":"p"}`, results{"the package": "fail"}},
		{"nor is one that ends after its tests have passed", `{"Action":"pass","Test":"TestA"}` + "\n" + `{"Action":"fail"}`,
			results{"TestA": "pass", "the package": "fail"}},
		{"nothing ran", `{"Action":"pass","Package":"p"}`, results{}},
	} {
		var log strings.Builder
		got, err := readResults(strings.NewReader(test.events), &log)
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", test.reason, err, diff)
		}
		if test.events == events && log.String() != "one is wrong\n" {
			t.Errorf("the log has %q", log.String())
		}
	}
	if got, err := readResults(strings.NewReader("no JSON"), io.Discard); err == nil {
		t.Errorf("what is no JSON is read as %v", got)
	}
}

func TestTable(t *testing.T) {
	a, b := group{name: "a"}, group{name: "b"}
	all := table{versions: []string{"1.8.2", "1.9.0"}, groups: []group{a, b}, of: map[string]map[string]results{
		"1.8.2": {"a": {"TestX": "fail", "TestY": "pass"}, "b": {"TestZ": "pass", "TestW": "skip"}},
		"1.9.0": {"a": {"TestX": "pass", "TestY": "pass"}, "b": {"TestZ": "fail", "TestW": "skip", "TestNew": "pass"}},
	}}
	lines, wrong := all.differences(map[string]string{
		"1.8.2 TestX": "it was another one",
		"1.9.0 TestY": "it was so once",
		"1.7.0 TestZ": "a version that did not run",
	})
	var out strings.Builder
	all.print(&out)
	fmt.Fprintln(&out, strings.Join(lines, "\n"), wrong)
	const want = `Kubernetes   1.8.2                 1.9.0
a            1 passed, 1 failed    2 passed
b            1 passed, 1 skipped   1 passed, 1 failed, 1 skipped
a: TestX: fail on 1.8.2 as expected, it was another one; pass on 1.9.0
a: TestY: pass on 1.8.2; pass on 1.9.0, expected to fail, it was so once
b: TestNew: absent on 1.8.2; pass on 1.9.0
b: TestZ: pass on 1.8.2; fail on 1.9.0, not expected 2
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestChosen(t *testing.T) {
	t.Setenv("K8S", "") // which build changes
	t.Setenv("KUBEBUILDER_ASSETS", "")
	all, err := chosen("", "")
	if err != nil || len(all.versions) < 2 || !slices.IsSorted(all.versions) || len(all.groups) != len(groups) {
		t.Errorf("without a choice: %+v, %v; want all, the oldest first", all, err)
	}
	some, err := chosen("1.37.2", "platform,facts")
	if err != nil || len(some.versions) != 1 || len(some.groups) != 2 || some.groups[0].name != "platform" {
		t.Errorf("chosen: %+v, %v", some, err)
	}
	const want = `no group is called "decision"; there are: facts, decisions, `
	if _, err := chosen("", "decision"); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("a wrong group: %v; want %s...", err, want)
	}
	t.Setenv("KUBEBUILDER_ASSETS", "somewhere")
	if _, err := chosen("", ""); err == nil || !strings.Contains(err.Error(), "unset KUBEBUILDER_ASSETS") {
		t.Errorf("with binaries of somebody else: %v; want it refused", err)
	}
	t.Setenv("KUBEBUILDER_ASSETS", "")
	wrong, err := chosen("1.20.0", "")
	if err == nil {
		err = wrong.build(t.Context())
	}
	if !errors.Is(err, localcluster.ErrVersion) {
		t.Errorf("a wrong version: %v; want ErrVersion", err)
	}
}

// Each name and each pattern of groups.go is of a test that there is.
func TestGroupsNameTests(t *testing.T) {
	function := regexp.MustCompile(`(?m)^func Test(\w+)\(t `)
	for _, g := range groups {
		files, err := filepath.Glob(filepath.Join("..", "..", "..", g.pkg, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", g.pkg, len(files), err)
		}
		var tests []string
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range function.FindAllSubmatch(content, -1) {
				tests = append(tests, string(match[1]))
			}
		}
		for pattern := range strings.SplitSeq(g.tests, "|") {
			if !slices.ContainsFunc(tests, regexp.MustCompile("^("+pattern+")$").MatchString) {
				t.Errorf("%s: no test of %s is called Test%s", g.name, g.pkg, pattern)
			}
		}
	}
}
