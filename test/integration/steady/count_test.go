package steady

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
)

// steadyCase is a case when all is known of it.
type steadyCase struct {
	steadyVerdict

	kind         string
	situations   []string
	provable     bool   // the read has what a proof takes
	quiet, fresh bool   // what the checks said
	admitted     bool   // what changed, admission would have changed at any write
	because      string // the check did not recognise a no-op
	story        func() string
}

func (c steadyCase) lie(said bool) bool { return said && c.changed != "" && !c.admitted }

// steadyNumbers count cases of one sort.
type steadyNumbers struct {
	cases, noops   int
	quiet, fresh   int // no-ops that the checks recognised
	lies, bumps    int
	byAdmission    int // said no-op, and admission alone changes something
	quietButRefuse int // said no-op, and the server refuses the intent
}

func (n *steadyNumbers) add(c steadyCase) {
	n.cases++
	if c.lie(c.quiet) || c.lie(c.fresh) {
		n.lies++
	}
	if c.admitted && (c.quiet || c.fresh) {
		n.byAdmission++
	}
	if c.refused && (c.quiet || c.fresh) {
		n.quietButRefuse++
	}
	if !c.noop() {
		return
	}
	n.noops++
	if c.bumped {
		n.bumps++
	}
	if c.quiet {
		n.quiet++
	}
	if c.fresh {
		n.fresh++
	}
}

func (n *steadyNumbers) String() string {
	return fmt.Sprintf("%6d cases, %6d no-ops, recognised %6.2f %%, fresh %6.2f %%, %d false, %d bumps",
		n.cases, n.noops, percent(n.quiet, n.noops), percent(n.fresh, n.noops), n.lies, n.bumps)
}

func percent(part, of int) float64 {
	if of == 0 {
		return 0
	}
	return 100 * float64(part) / float64(of)
}

// steadyCount is what a run found. A proof cannot be had from some reads, nor where
// admission sets our field to something else: those are counted apart.
type steadyCount struct {
	mu       sync.Mutex
	all      steadyNumbers
	provable steadyNumbers
	by       map[string]*steadyNumbers // situation or kind
	missed   map[string]int            // no-ops not recognised, by kind and reason
	lies     []string
}

func newSteadyCount() *steadyCount {
	return &steadyCount{by: map[string]*steadyNumbers{}, missed: map[string]int{}}
}

const overridden = "admission says override"

func (s *steadyCount) add(c steadyCase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.add(c)
	if c.provable = c.provable && !slices.Contains(c.situations, overridden); c.provable {
		s.provable.add(c)
	}
	for _, what := range append([]string{"kind " + c.kind}, c.situations...) {
		if s.by[what] == nil {
			s.by[what] = &steadyNumbers{}
		}
		s.by[what].add(c)
	}
	if (c.lie(c.quiet) || c.lie(c.fresh)) && len(s.lies) < 5 {
		s.lies = append(s.lies, fmt.Sprintf("no-op said: %v, fresh: %v; an apply changes:\n%s\n%s", c.quiet, c.fresh, c.changed, c.story()))
	}
	if c.provable && c.noop() && !c.fresh {
		s.missed[c.kind+": "+c.because]++
	}
}

// report prints the summary.
func (s *steadyCount) report(t *testing.T) {
	t.Helper()
	t.Logf("all:      %v", &s.all)
	t.Logf("provable: %v", &s.provable)
	t.Logf("no-op said where admission alone changes something: %d; where the server refuses: %d", s.all.byAdmission, s.all.quietButRefuse)
	for _, what := range slices.Sorted(maps.Keys(s.by)) {
		t.Logf("%-42s %v", what, s.by[what])
	}
	missed := slices.SortedFunc(maps.Keys(s.missed), func(a, b string) int { return s.missed[b] - s.missed[a] })
	for _, what := range missed[:min(len(missed), 40)] {
		t.Logf("not recognised %d times: %s", s.missed[what], what)
	}
}
