package summary

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"coapply.dev/compare/results"
)

// percent is for sentences: three digits say enough.
func percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

// bound is an upper end, rounded up to two digits.
func bound(share float64) string {
	step := math.Pow(10, math.Floor(math.Log10(100*share))-1)
	return fmt.Sprintf("%.2g %%", math.Ceil(100*share/step)*step)
}

// orNA is a number with its unit, or that there is none.
func orNA(x *float64, unit string) string {
	if x == nil {
		return "n/a"
	}
	return strings.TrimSpace(fmt.Sprintf("%.3g %s", *x, unit))
}

// several joins names, the first few of many.
func several(names []string) string {
	const most = 4
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// plural is "1 trial", "2 trials".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%s %ss", count(n), what)
}

// count is 12,345.
func count(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// label names an arm in its cell.
func (g group) label() string { return g.arm + " in " + g.name() }

// lost is how many values are gone; a write can carry several, and each can be lost again and again.
func (g group) lost() string {
	return fmt.Sprintf("%s in %s", plural(g.result.LostUpdates, "value"), plural(g.result.Acknowledged, "acknowledged write"))
}

// ratioText is for sentences: "1.53 times [1.41, 1.66]".
func ratioText(c results.Comparison) string {
	switch {
	case c.Ratio == 0:
		return "n/a"
	case c.Lo == 0:
		return fmt.Sprintf("%.3g times", c.Ratio)
	}
	return fmt.Sprintf("%.3g times [%.3g, %.3g]", c.Ratio, c.Lo, c.Hi)
}
