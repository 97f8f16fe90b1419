// Command mutants changes one thing in a package at a time, such as a condition or a statement, and runs the tests of
// the package. A mutant that they do not notice is a survivor: a test is missing, or the code is not needed, or both
// ways are right. Survivors of the last kind are listed in known.txt, each with its reason.
//
// All mutants of a package are compiled at once, each behind a switch in the environment, and a mutant is met only
// with the tests that reach it. So a mutant costs milliseconds, not a build.
//
//	go run ./test/cmd/mutants -for 10m ./fieldowners/...
//	go run ./test/cmd/mutants -with ./apply ./apply/internal/...
//
// Existing tools were tried: gremlins 0.6 counts what does not compile as noticed, knows neither removed statements nor
// returned values, and links the tests again for each mutant.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

var showUnreached = flag.Bool("unreached", false, "print mutants that no test reaches as well")

func main() { os.Exit(run()) }

func run() int {
	patience := flag.Duration("for", 10*time.Minute, "start no mutant after this time")
	seed := flag.Uint64("seed", 1, "of the order in which mutants are taken")
	with := flag.String("with", "", "packages, separated by commas, whose tests are run as well")
	list := flag.String("known", "test/cmd/mutants/known.txt", "survivors that are right, each with its reason")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	known, err := readKnown(*list)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		return 1
	}
	packages, err := load(ctx, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		return 1
	}
	others, err := load(ctx, strings.FieldsFunc(*with, func(r rune) bool { return r == ',' }))
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		return 1
	}
	limited, cancel := context.WithTimeout(ctx, *patience)
	defer cancel()
	total := &tally{known: known}
	for _, p := range packages {
		if limited.Err() != nil {
			fmt.Printf("%s: not begun, the time is over\n", p.ImportPath)
			continue
		}
		if err := p.mutate(limited, others, rand.New(rand.NewPCG(*seed, 0)), total); err != nil {
			fmt.Fprintf(os.Stderr, "mutants: %s: %v\n", p.ImportPath, err)
			total.failed++
		}
	}
	fmt.Printf("in all: %v\n", total)
	for _, line := range known.unneeded() {
		fmt.Printf("noticed by a test, take it from %s: %s\n", *list, line)
	}
	if total.survived+total.failed > 0 || ctx.Err() != nil {
		return 1
	}
	return 0
}

// tally counts what became of mutants.
type tally struct {
	known                                        *known
	noticed, survived, listed, unreached, failed int
}

func (t *tally) String() string {
	return fmt.Sprintf("%d noticed, %d survived, %d survived as known, %d not reached by a test",
		t.noticed, t.survived, t.listed, t.unreached)
}
