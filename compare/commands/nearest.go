package commands

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// unknown says that a name is none of those there are, and which are near to it.
func unknown(kind, name string, names []string) error {
	return fmt.Errorf("there is no %s %q%s; see compare list", kind, name, didYouMean(nearest(name, names)))
}

func unknownCommand(root *cobra.Command, name string) error {
	var names []string
	for _, cmd := range root.Commands() {
		names = append(names, cmd.Name())
	}
	return fmt.Errorf("there is no command %q%s; use %s, or see compare --help", name, didYouMean(nearest(name, names)), commandNames)
}

// badFlag says what is wrong with a flag, and which flags have a name near to one that is not there.
func badFlag(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) || missing.GetSpecifiedShortnames() != "" {
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	}
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	near := nearest(missing.GetSpecifiedName(), names)
	for i := range near {
		near[i] = "--" + near[i]
	}
	return fmt.Errorf("%w%s; see %s --help", err, didYouMean(near), cmd.CommandPath())
}

func didYouMean(near []string) string {
	if len(near) == 0 {
		return ""
	}
	return " (did you mean " + strings.Join(near, " or ") + "?)"
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
