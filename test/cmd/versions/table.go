package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// results maps tests to pass, fail or skip. A test with subtests is left out, unless it failed and no subtest failed.
type results map[string]string

// readResults reads the output of go test -json for one package. A package that fails without a failed test, because it
// does not compile, for example, counts as one failed test.
func readResults(from io.Reader, log io.Writer) (results, error) {
	all, failed := results{}, false
	for events := json.NewDecoder(from); ; {
		var event struct{ Action, Test, Output string }
		err := events.Decode(&event)
		switch {
		case errors.Is(err, io.EOF):
			leaves := all.leaves()
			if failed && leaves.count("fail") == 0 {
				leaves["the package"] = "fail"
			}
			return leaves, nil
		case err != nil:
			return nil, fmt.Errorf("reading go test -json: %w", err)
		case event.Output != "":
			if _, err := io.WriteString(log, event.Output); err != nil {
				return nil, err
			}
		case event.Test == "":
			failed = failed || event.Action == "fail"
		case event.Action == "pass" || event.Action == "fail" || event.Action == "skip":
			all[event.Test] = event.Action
		}
	}
}

func (r results) leaves() results {
	leaves := maps.Clone(r)
	for test, action := range r {
		for parent := test; strings.Contains(parent, "/"); {
			parent = parent[:strings.LastIndex(parent, "/")]
			if r[parent] != "fail" || action == "fail" {
				delete(leaves, parent)
			}
		}
	}
	return leaves
}

func (r results) count(action string) (n int) {
	for _, a := range r {
		if a == action {
			n++
		}
	}
	return n
}

func (r results) String() string {
	said := []string{fmt.Sprintf("%d passed", r.count("pass"))}
	for _, other := range [][2]string{{"fail", "failed"}, {"skip", "skipped"}} {
		if n := r.count(other[0]); n > 0 {
			said = append(said, fmt.Sprintf("%d %s", n, other[1]))
		}
	}
	return strings.Join(said, ", ")
}

// table has the results of each group on each version.
type table struct {
	versions []string
	groups   []group
	of       map[string]map[string]results // by version and group
}

func (t *table) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "Kubernetes\t%s\n", strings.Join(t.versions, "\t"))
	for _, g := range t.groups {
		fmt.Fprint(w, g.name)
		for _, version := range t.versions {
			fmt.Fprintf(w, "\t%v", t.of[version][g.name])
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // a terminal or a test
}

// differences returns a line for each test that failed, or whose result is not the same on all versions. The argument
// expected has the tests that should fail. wrong is the number of results that are not as expected.
func (t *table) differences(expected map[string]string) (lines []string, wrong int) {
	for _, g := range t.groups {
		for _, test := range t.tests(g) {
			var said []string
			same := true
			for _, version := range t.versions {
				result := cmp.Or(t.of[version][g.name][test], "absent")
				reason, listed := expected[version+" "+test]
				same = same && !listed && result != "fail" && result == t.of[t.versions[0]][g.name][test]
				result += " on " + version
				switch failed := strings.HasPrefix(result, "fail"); {
				case failed && listed:
					result += " as expected, " + reason
				case failed:
					result += ", not expected"
					wrong++
				case listed:
					result += ", expected to fail, " + reason
					wrong++
				}
				said = append(said, result)
			}
			if !same {
				lines = append(lines, fmt.Sprintf("%s: %s: %s", g.name, test, strings.Join(said, "; ")))
			}
		}
	}
	return lines, wrong
}

func (t *table) tests(g group) []string {
	all := results{}
	for _, version := range t.versions {
		maps.Copy(all, t.of[version][g.name])
	}
	return slices.Sorted(maps.Keys(all))
}
