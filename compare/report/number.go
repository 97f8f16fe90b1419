package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"coapply.dev/compare/results"
)

// na stands where nothing was measured.
const na = "n/a"

// maxText is how much of a text is shown: an error may hold a whole object.
const maxText = 1500

// number writes a value with about three digits: 12,345, 123, 12.3, 1.23, 0.0123.
func number(v float64) string {
	size := math.Abs(v)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return na
	case size >= 99.95 && size < 1e15:
		return count(int(math.Round(v)))
	case size >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case size >= 0.9995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case size >= 0.0995:
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// exact writes a value that was set, not measured: 5, 0.5.
func exact(v float64) string {
	if !finite(v) {
		return na
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// signed writes a share that may be too much or too little.
func signed(v float64) string {
	if !finite(v) {
		return na
	}
	return fmt.Sprintf("%+.1f %%", 100*v)
}

// maybe writes a value that may not have been measured.
func maybe(v *float64) string {
	if v == nil {
		return na
	}
	return number(*v)
}

// count writes a number of things: 12,345.
func count(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// plural writes how many of something there are: 1 writer, 2 writers.
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return count(n) + " " + noun
}

// percent writes a share.
func percent(v *float64) string {
	if v == nil {
		return na
	}
	if math.IsNaN(*v) || math.IsInf(*v, 0) {
		return na
	}
	return strconv.FormatFloat(*v*100, 'g', 3, 64) + " %"
}

// little writes a share that matters only where it is large.
func little(v *float64) string {
	switch {
	case v == nil || !finite(*v):
		return na
	case *v > 0 && *v < 0.001:
		return "< 0.1 %"
	}
	return fmt.Sprintf("%.1f %%", 100**v)
}

// interval writes a mean with its 95 % interval.
func interval(i *results.Interval) string {
	switch {
	case i == nil:
		return na
	case i.Lo == nil || i.Hi == nil:
		return number(i.Mean)
	}
	return fmt.Sprintf("%s [%s, %s]", number(i.Mean), number(*i.Lo), number(*i.Hi))
}

func mean(i *results.Interval) string {
	if i == nil {
		return na
	}
	return number(i.Mean)
}

func duration(d *time.Duration) string {
	if d == nil {
		return na
	}
	return d.Round(time.Microsecond).String()
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return na
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

func either(text string) string {
	if text == "" {
		return na
	}
	return text
}

// cut leaves out the end of a text that is too long, and says so.
func cut(text string) string {
	runes := []rune(text)
	if len(runes) <= maxText {
		return text
	}
	return fmt.Sprintf("%s… (%s more characters)", string(runes[:maxText]), count(len(runes)-maxText))
}

// visible replaces what a page must not contain: control characters, and those that turn the direction of writing.
func visible(text []byte) []byte {
	return []byte(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, string(text)))
}
