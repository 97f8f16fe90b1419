package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMutants has the tests of a small package meet its mutants. They look at one side of Least alone.
func TestMutants(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{
		"go.mod": "module example.com/small\n\ngo 1.26\n",
		"small.go": `package small

func Least(a, b int, log func(int)) (int, error) {
	if a < b {
		log(a)
		return a, nil
	}
	return b, nil
}

func Never() bool { return false }
`,
		"small_test.go": `package small

import "testing"

func TestLeast(t *testing.T) {
	if got, _ := Least(1, 2, func(int) {}); got != 1 {
		t.Error(got)
	}
}
`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	packages, err := load(t.Context(), []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	right := "small.go Least: `log(a)` is removed"
	got := &tally{known: &known{map[string]string{right: "nobody reads the log"}, map[string]bool{}, map[string]bool{}}}
	if err := packages[0].mutate(t.Context(), nil, rand.New(rand.NewPCG(1, 0)), got); err != nil {
		t.Fatal(err)
	}
	survived := map[string]bool{
		right:                                    true,
		"small.go Least: `a < b` is always true": true,
		"small.go Least: `a < b` has <=":         true,
	}
	if diff := cmp.Diff(survived, got.known.survived); diff != "" {
		t.Errorf("survivors (-want +got):\n%s", diff)
	}
	noticed := map[string]bool{
		"small.go Least: `a < b` is always false": true,
		"small.go Least: `a` is returned as zero": true,
	}
	if diff := cmp.Diff(noticed, got.known.noticed); diff != "" {
		t.Errorf("noticed (-want +got):\n%s", diff)
	}
	if got.survived != 2 || got.listed != 1 || got.unreached != 2 {
		t.Error(got) // no test has b or Never
	}
}
