package faults

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"coapply.dev/test/kit"
)

// results records the tests that passed at this commit. make faults keeps the records in a file, so that an interrupted
// run can continue. A line of the file is the name of a test, a tab, and what the test counted.
var results struct {
	sync.Mutex

	counted map[string]string // what each test that called the function once has counted, even if it has not passed
	begun   map[string]bool   // the tests that called the function once
	passed  map[string]bool
	file    *os.File // nil without COAPPLY_RESULTS
}

// openResults reads the file that COAPPLY_RESULTS names, and lets the results be printed at the end.
func openResults() error {
	results.counted, results.begun, results.passed = map[string]string{}, map[string]bool{}, map[string]bool{}
	name := os.Getenv("COAPPLY_RESULTS")
	if name == "" {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for line := range strings.Lines(string(text)) {
		test, counted, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		results.counted[test], results.passed[test] = counted, true
	}
	kit.OnStop(printResults)
	results.file, err = os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return err
}

// once skips a test that has passed at this commit. Otherwise it records the test if the test passes.
func once(t *testing.T) {
	t.Helper()
	kit.ForSoak(t)
	results.Lock()
	defer results.Unlock()
	if results.passed[t.Name()] {
		t.Skip("passed before, at this commit")
	}
	results.begun[t.Name()] = true
	t.Cleanup(func() {
		results.Lock()
		defer results.Unlock()
		if results.file == nil || t.Failed() || t.Skipped() {
			return
		}
		results.passed[t.Name()] = true
		if _, err := fmt.Fprintf(results.file, "%s\t%s\n", t.Name(), results.counted[t.Name()]); err != nil {
			t.Error(err)
		}
	})
}

// count logs what a test counted, and adds the text to the result of the nearest test (this test or a parent) that
// called the function once.
func count(t *testing.T, format string, arguments ...any) {
	t.Helper()
	text := fmt.Sprintf(format, arguments...)
	t.Log("counted: " + text)
	results.Lock()
	defer results.Unlock()
	name := t.Name()
	for !results.begun[name] {
		name = name[:strings.LastIndex(name, "/")]
	}
	if name != t.Name() {
		text = t.Name()[len(name)+1:] + ": " + text
	}
	if before := results.counted[name]; before != "" {
		text = before + "; " + text
	}
	results.counted[name] = text
}

// notMet is the text that a case of the matrix passes to count if its fault did not occur in any of its runs.
const notMet = "the fault did not occur"

// printResults prints two tables of the tests that passed at this commit: how many of each kind, and what the tests
// other than TestMatrix counted.
func printResults(context.Context) error {
	results.Lock()
	defer results.Unlock()
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	cases := regexp.MustCompile(`^(TestMatrix/[a-z]+)_\w+/|^(TestTwoLeaders/[a-z]+)_`)
	runs, missed := map[string]int{}, map[string]int{}
	for test := range results.passed {
		found := cases.FindStringSubmatch(test)
		if found == nil {
			continue
		}
		kind := found[1] + found[2]
		runs[kind]++
		if results.counted[test] == notMet {
			missed[kind]++
		}
	}
	fmt.Fprintln(table, "TEST\tPASSED\tFAULT DID NOT OCCUR")
	for _, kind := range slices.Sorted(maps.Keys(runs)) {
		fmt.Fprintf(table, "%s\t%d\t%d\n", kind, runs[kind]-missed[kind], missed[kind])
	}
	fmt.Fprintln(table, "\nTEST\tCOUNTED")
	for _, test := range slices.Sorted(maps.Keys(results.passed)) {
		if counted := results.counted[test]; counted != "" && !strings.HasPrefix(test, "TestMatrix") {
			fmt.Fprintf(table, "%s\t%s\n", test, strings.ReplaceAll(counted, "; ", "\n\t"))
		}
	}
	return table.Flush()
}
