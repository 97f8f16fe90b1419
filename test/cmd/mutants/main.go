// Command mutants is for mutation tests. Each mutant is one change of a package, such as a removed statement. The tests
// of the package run on each mutant. A mutant that no test notices is a survivor: a test is missing, or the code is not
// needed, or the changed code is correct, too. Survivors of the last kind are listed in known.txt, with the reasons.
//
// All mutants of a package are compiled at once, and an environment variable switches one of them on. Only the tests
// that reach a mutant run on it. So a mutant costs milliseconds, not a build.
//
//	go run ./test/cmd/mutants -for 10m ./fieldowners/...
//	go run ./test/cmd/mutants -with ./apply ./apply/internal/...
//
// Existing tools do not suffice: gremlins 0.6 counts a mutant that does not compile as noticed, does not remove
// statements or change returned values, and links the tests again for each mutant.
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

var showUnreached = flag.Bool("unreached", false, "also print the mutants that no test reaches")

func main() { os.Exit(run()) }

func run() int {
	patience := flag.Duration("for", 10*time.Minute, "start no mutant after this time")
	seed := flag.Uint64("seed", 1, "seed of the random order of the mutants")
	with := flag.String("with", "", "further packages, separated by commas, whose tests are also run")
	list := flag.String("known", "test/cmd/mutants/known.txt", "`file` that lists the accepted survivors, each with its reason")
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
			fmt.Printf("%s: not started, because the time is over\n", p.ImportPath)
			continue
		}
		if err := p.mutate(limited, others, rand.New(rand.NewPCG(*seed, 0)), total); err != nil {
			fmt.Fprintf(os.Stderr, "mutants: %s: %v\n", p.ImportPath, err)
			total.failed++
		}
	}
	fmt.Printf("in all: %v\n", total)
	for _, line := range known.unneeded() {
		fmt.Printf("noticed by a test, so remove this line from %s: %s\n", *list, line)
	}
	if total.survived+total.failed > 0 || ctx.Err() != nil {
		return 1
	}
	return 0
}

// tally counts the mutants by result.
type tally struct {
	known                                        *known
	noticed, survived, listed, unreached, failed int
}

func (t *tally) String() string {
	return fmt.Sprintf("%d noticed, %d survived, %d survived as listed in known.txt, %d not reached by a test",
		t.noticed, t.survived, t.listed, t.unreached)
}
