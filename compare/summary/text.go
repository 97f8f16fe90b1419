package summary

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/statistics"
)

// NA is shown for a value that was not measured.
const NA = "n/a"

// Number formats a value with about three digits, such as 12,345, 123, 12.3, 1.23 or 0.0123.
func Number(v float64) string {
	switch size := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return NA
	case v == 0:
		return "0"
	case size >= 99.95 && size < 1e15:
		return Count(int(math.Round(v)))
	case size >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case size >= 0.9995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case size >= 0.0995:
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Count formats an integer with separators of thousands, such as 12,345.
func Count(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Percent formats a share as a percentage.
func Percent(share float64) string {
	switch {
	case math.IsNaN(share) || math.IsInf(share, 0):
		return NA
	case share > 0 && share < 0.001:
		return "under 0.1 %"
	case share > 0.1:
		return fmt.Sprintf("%.0f %%", 100*share)
	}
	return strconv.FormatFloat(100*share, 'g', 2, 64) + " %"
}

// plural formats a number of things, such as "1 trial" or "2 trials".
func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return Count(n) + " " + what
}

// estimatedShare formats the mean of a share as a percentage. The interval does not go above 100 %.
func estimatedShare(e statistics.Estimate) string {
	if e.Lo == nil || e.Hi == nil {
		return Percent(e.Mean)
	}
	return fmt.Sprintf("%s [%s, %s]", Percent(e.Mean), Percent(*e.Lo), Percent(min(1, *e.Hi)))
}

// Times formats a ratio with its interval, such as 1.53× [1.41, 1.66].
func Times(ratio, lo, hi float64) string {
	switch {
	case ratio == 0 || math.IsInf(ratio, 0) || math.IsNaN(ratio):
		return NA
	case lo == 0:
		return digits(ratio) + "×"
	}
	return fmt.Sprintf("%s× [%s, %s]", digits(ratio), digits(lo), digits(hi))
}

func digits(ratio float64) string {
	if ratio >= 9.95 {
		return strconv.FormatFloat(ratio, 'f', 1, 64)
	}
	return strconv.FormatFloat(ratio, 'f', 2, 64)
}

// The workload and the number of field managers that most cells have. Phrase does not mention them.
const (
	usualWorkload = "hot-object"
	usualManagers = 4
)

// Phrase describes a cell, such as "16 writers, 4 processes, 5 ms" or "increment, 8 writers, 1 manager".
func Phrase(c compare.Cell) string {
	parts := []string{c.Workload, plural(c.Writers, "writer")}
	if c.Workload == usualWorkload {
		parts = parts[1:]
	}
	if c.Processes > 1 {
		parts = append(parts, Count(c.Processes)+" processes")
	}
	if c.RTT > 0 {
		parts = append(parts, Milliseconds(c.RTT))
	}
	if c.Managers != usualManagers {
		parts = append(parts, plural(c.Managers, "manager"))
	}
	if c.Objects > 1 {
		parts = append(parts, plural(c.Objects, "object"))
	}
	if c.Rate > 0 {
		parts = append(parts, fmt.Sprintf("%g/s", c.Rate))
	}
	return strings.Join(parts, ", ")
}

// several joins names with commas. If there are more than four names, it lists four of them and the number of the others.
func several(names []string) string {
	const most = 4
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// Arm puts the name of an arm into backticks. Reports show such names as code.
func Arm(name string) string { return "`" + name + "`" }

func arm(name string) string { return Arm(name) }

// list joins names, such as "a, b and c".
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// Milliseconds formats a round-trip time, such as "5 ms".
func Milliseconds(d time.Duration) string { return fmt.Sprintf("%g ms", d.Seconds()*1000) }
