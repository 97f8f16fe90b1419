// Package nearest finds the names that a mistyped name may stand for.
package nearest

import (
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

const (
	most  = 3
	typos = 2
)

// Names returns up to three of the names, the nearest first: those a few typos away from given,
// and those that contain it.
func Names(given string, names []string) []string {
	far := max(typos, len(given)/3) + 1
	distance := func(name string) int {
		d := levenshtein.Distance(given, name, nil)
		if given != "" && strings.Contains(name, given) {
			d = min(d, 1)
		}
		return d
	}
	near := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return distance(name) >= far })
	slices.SortStableFunc(near, func(a, b string) int { return distance(a) - distance(b) })
	return near[:min(most, len(near))]
}
