package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// test is a test function in a compiled test binary.
type test struct {
	binary, dir, name string
	took              time.Duration
	reaches           map[int]bool // numbers of mutants
}

// mutate compiles the mutants of a package, and runs the tests of the package and of others on each mutant.
func (p *pkg) mutate(ctx context.Context, others []*pkg, order *rand.Rand, total *tally) error {
	folder, err := os.MkdirTemp("", "coapply-mutants-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	overlay, err := p.instrument(folder)
	if err != nil {
		return err
	}
	var tests []*test
	for i, tested := range append([]*pkg{p}, others...) {
		compiled, err := tested.compile(ctx, overlay, filepath.Join(folder, fmt.Sprint(i, ".test")))
		if err != nil {
			return err
		}
		tests = append(tests, compiled...)
	}
	side(len(tests), func(i int) { tests[i].record(ctx, folder) })
	tests = slices.DeleteFunc(tests, func(t *test) bool { return t.reaches == nil })
	slices.SortFunc(tests, func(a, b *test) int { return int(a.took - b.took) })
	fmt.Printf("%s: %d mutants, %d tests\n", p.ImportPath, len(p.mutants), len(tests))

	here := &tally{known: total.known}
	var mu sync.Mutex
	begun := time.Now()
	turns := order.Perm(len(p.mutants))
	met := 0
	side(len(turns), func(i int) {
		if ctx.Err() != nil {
			return
		}
		m := p.mutants[turns[i]]
		reached, noticed := m.meet(ctx, tests)
		mu.Lock()
		defer mu.Unlock()
		if met++; met%100 == 0 {
			fmt.Fprintf(os.Stderr, "%s: %d of %d mutants in %s\n", p.ImportPath, met, len(turns), time.Since(begun).Round(time.Second))
		}
		here.count(m, reached, noticed)
	})
	fmt.Printf("%s: %v, %d not tried, in %s\n", p.ImportPath, here, len(turns)-met, time.Since(begun).Round(time.Second))
	total.noticed += here.noticed
	total.survived += here.survived
	total.listed += here.listed
	total.unreached += here.unreached
	return nil
}

func (t *tally) count(m mutant, reached, noticed bool) {
	switch {
	case !reached:
		t.unreached++
		if *showUnreached {
			fmt.Printf("NOT REACHED %d:%d %s\n", m.place.Line, m.place.Column, m.name)
		}
	case noticed:
		t.noticed++
		t.known.noticed[m.name] = true
	case t.known.survivor(m.name):
		t.listed++
	default:
		t.survived++
		fmt.Printf("SURVIVED %d:%d %s\n", m.place.Line, m.place.Column, m.name)
	}
}

// side calls do for each number from 0 to count-1. It runs as many calls concurrently as there are processors.
func side(count int, do func(i int)) {
	var group sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range count {
		next <- i
	}
	close(next)
	group.Wait()
}

// compile compiles the test binary of a package with the mutants, and returns the tests in the binary.
func (p *pkg) compile(ctx context.Context, overlay, binary string) (tests []*test, err error) {
	if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
		return nil, nil
	}
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, p.ImportPath)
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the mutants do not compile: %w\n%s", err, out)
	}
	list := exec.CommandContext(ctx, binary, "-test.list", "^(Test|Example|Fuzz)")
	list.Dir = p.Dir
	out, err := list.Output()
	if err != nil {
		return nil, err
	}
	for name := range strings.FieldsSeq(string(out)) {
		tests = append(tests, &test{binary: binary, dir: p.Dir, name: name})
	}
	return tests, nil
}

// record runs a test without a mutant, and records its duration and the mutants that it reaches. A test that fails is
// not used.
func (t *test) record(ctx context.Context, folder string) {
	file, err := os.CreateTemp(folder, "reached-")
	if err != nil {
		return
	}
	_ = file.Close()
	begun := time.Now()
	if out, err := runTests(ctx, []*test{t}, 5*time.Minute, "COAPPLY_MUTANTS_REACHED="+file.Name()); err != nil {
		fmt.Fprintf(os.Stderr, "%s fails without a mutant and is left out: %v\n%s", t.name, err, out)
		return
	}
	t.took = time.Since(begun)
	content, err := os.ReadFile(file.Name())
	if err != nil {
		return
	}
	t.reaches = map[int]bool{}
	for line := range bytes.Lines(content) {
		if number, err := strconv.Atoi(string(bytes.TrimSpace(line))); err == nil {
			t.reaches[number] = true
		}
	}
}

// meet runs the tests that reach the mutant, the fast ones first, until a test notices the mutant. If ctx ends before,
// the result is unknown, and noticed is true: the mutant is not counted as a survivor.
func (m mutant) meet(ctx context.Context, tests []*test) (reached, noticed bool) {
	var reaching []*test
	for _, t := range tests {
		if t.reaches[m.number] {
			reaching = append(reaching, t)
		}
	}
	for size, rest := 4, reaching; len(rest) > 0; size *= 4 {
		some := 1
		for some < min(size, len(rest)) && rest[some].binary == rest[0].binary {
			some++
		}
		patience := 10 * time.Second
		for _, t := range rest[:some] {
			patience += 5 * t.took
		}
		_, err := runTests(ctx, rest[:some], patience, "COAPPLY_MUTANT="+strconv.Itoa(m.number))
		if err != nil && ctx.Err() == nil {
			return true, true
		}
		rest = rest[some:]
	}
	return len(reaching) > 0, ctx.Err() != nil // if ctx has ended, the result is not known
}

var errHangs = errors.New("the tests hang")

// runTests runs tests of one binary in one process. The process has at most 8 GB of address space, and writes no
// failing cases into testdata.
func runTests(ctx context.Context, tests []*test, patience time.Duration, environment string) (out []byte, err error) {
	names := make([]string, len(tests))
	for i, t := range tests {
		names[i] = regexp.QuoteMeta(t.name)
	}
	limited, cancel := context.WithTimeoutCause(ctx, patience, errHangs)
	defer cancel()
	command := exec.CommandContext(limited, "sh", "-c", `ulimit -v 8000000 2>/dev/null; exec "$0" "$@"`,
		tests[0].binary, "-test.short", "-test.failfast", "-test.count=1", "-test.run", "^("+strings.Join(names, "|")+")$")
	command.Dir = tests[0].dir
	command.Env = append(os.Environ(), "RAPID_NOFAILFILE=1", environment)
	return command.CombinedOutput()
}
