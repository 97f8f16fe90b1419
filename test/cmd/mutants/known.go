package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// known has the survivors in known.txt and the results of this run. The keys are names of mutants (no line numbers).
type known struct {
	reasons  map[string]string
	survived map[string]bool
	noticed  map[string]bool
}

func readKnown(path string) (*known, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	k := &known{map[string]string{}, map[string]bool{}, map[string]bool{}}
	for number, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, found := strings.Cut(line, "  # ")
		if !found || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%s:%d: no reason: want NAME, two spaces, # REASON", path, number+1)
		}
		k.reasons[strings.TrimSpace(name)] = reason
	}
	return k, nil
}

// survivor records that a mutant has survived, and reports whether known.txt lists the mutant.
func (k *known) survivor(name string) bool {
	k.survived[name] = true
	return k.reasons[name] != ""
}

// unneeded returns the names in known.txt whose mutants were noticed in this run and never survived.
func (k *known) unneeded() (names []string) {
	for name := range k.reasons {
		if k.noticed[name] && !k.survived[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
