// Package nearest suggests existing names for a name that the user has mistyped.
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

// Names returns up to three names that are similar to the given name, the most similar name first. A name is similar
// if it differs by a few letters, or if it contains the given name.
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
