package commands

import (
	"fmt"
	"slices"
	"strings"
)

// unknown says that a name is none of those there are, and which are near to it.
func unknown(kind, name string, names []string) error {
	near := nearest(name, names)
	if len(near) == 0 {
		return fmt.Errorf("there is no %s %q: see compare list", kind, name)
	}
	return fmt.Errorf("there is no %s %q; did you mean %s? See compare list", kind, name, strings.Join(near, " or "))
}

// nearest gives up to three names that a slip of the fingers away, or that contain what was typed.
func nearest(name string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var candidates []candidate
	for _, other := range names {
		d := distance(name, other)
		if name != "" && strings.Contains(other, name) {
			d = min(d, 1)
		}
		if d <= max(2, len(name)/3) {
			candidates = append(candidates, candidate{other, d})
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return a.distance - b.distance })
	var near []string
	for _, c := range candidates[:min(3, len(candidates))] {
		near = append(near, c.name)
	}
	return near
}

// distance is Levenshtein's: how many letters are to be added, removed or replaced.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(row[j]+1, row[j-1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
