package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// known are the survivors of known.txt. They are named without lines and columns, which change.
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

// survivor reports whether a mutant that survived is listed.
func (k *known) survivor(name string) bool {
	k.survived[name] = true
	return k.reasons[name] != ""
}

// unneeded are the lines whose mutants were met and noticed.
func (k *known) unneeded() (names []string) {
	for name := range k.reasons {
		if k.noticed[name] && !k.survived[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
