// Package measure defines the result table of `compare bench`. Each row has a required value, a target value, the
// measured values, and the values of other libraries.
package measure

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Unit is the unit of a measure's values.
type Unit string

// Units.
const (
	Times    Unit = "times" // a ratio of two values
	Requests Unit = "requests"
	Time     Unit = "time" // in seconds
	Count    Unit = "count"
	Share    Unit = "share"
	Bytes    Unit = "bytes"
	Rate     Unit = "per second"
)

// Text formats a value with its unit.
func (u Unit) Text(v float64) string {
	switch {
	case math.IsNaN(v):
		return "n/a"
	case u == Times && v > 0 && v < 0.2:
		return "1/" + digits(1/v)
	case u == Time:
		return duration(v)
	case u == Share:
		return digits(100*v) + " %"
	case u == Rate:
		return digits(v) + "/s"
	case u == Bytes:
		return digits(v/(1<<20)) + " MiB"
	}
	return digits(v)
}

func duration(seconds float64) string {
	for _, unit := range []struct {
		name string
		of   float64
	}{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}} {
		if seconds >= unit.of {
			return digits(seconds/unit.of) + " " + unit.name
		}
	}
	return digits(seconds/1e-9) + " ns"
}

// digits formats a value with three significant digits.
func digits(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e6 {
		return fmt.Sprintf("%.0f", v)
	}
	if math.Abs(v) >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// Bound is a limit for the values of a measure.
type Bound struct {
	AtLeast bool    `json:"atLeast"` // whether Value is a lower limit; otherwise it is an upper limit
	Value   float64 `json:"value"`
}

// AtLeast returns a lower limit.
func AtLeast(v float64) Bound { return Bound{AtLeast: true, Value: v} }

// AtMost returns an upper limit.
func AtMost(v float64) Bound { return Bound{Value: v} }

func (b Bound) holds(v float64) bool {
	if math.IsNaN(v) {
		return false
	}
	if b.AtLeast {
		return v >= b.Value
	}
	return v <= b.Value
}

func (b Bound) text(u Unit) string {
	sign := "≤ "
	if b.AtLeast {
		sign = "≥ "
	}
	if b.Value == 0 {
		sign = ""
	}
	return sign + u.Text(b.Value)
}

// Peer has values that are shown beside the values of a Row for comparison, such as the values of another library.
type Peer struct {
	Name   string    `json:"name"`
	Unit   Unit      `json:"unit"`
	Rounds []float64 `json:"rounds"`
}

// Row is one measure with its limits and its measured values.
type Row struct {
	ID string `json:"id"`
	// Series is the title of a group of consecutive rows with the same limits and peers. It is "" for a single row.
	Series  string `json:"series,omitempty"`
	Measure string `json:"measure"`
	// Column is the name of the row's column if the rows of the series form a grid. Measure is then the name of the line.
	Column string `json:"column,omitempty"`
	Unit   Unit   `json:"unit"`
	Must   Bound  `json:"must"`
	Aim    Bound  `json:"aim"`
	// Rounds has one value for each round. It is empty if nothing was measured.
	Rounds []float64 `json:"rounds"`
	Peers  []Peer    `json:"peers,omitempty"`
	// Note is a remark for the reader, such as why the measured value is only a bound of the real value.
	Note string `json:"note,omitempty"`
}

// Median returns the median of the values, or NaN if there are none.
func Median(rounds []float64) float64 {
	if len(rounds) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(rounds))
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}

// spread formats the median with the smallest and the largest value.
func spread(u Unit, rounds []float64) string {
	if len(rounds) == 0 {
		return "n/a"
	}
	least, greatest := slices.Min(rounds), slices.Max(rounds)
	if least == greatest {
		return u.Text(least)
	}
	return fmt.Sprintf("%s [%s, %s]", u.Text(Median(rounds)), u.Text(least), u.Text(greatest))
}

// Met returns "aim" if the median meets the limit Aim, "must" if it meets only the limit Must, and "no" if it meets
// neither. It returns "not measured" if there are no values.
func (r Row) Met() string {
	switch v := Median(r.Rounds); {
	case len(r.Rounds) == 0:
		return "not measured"
	case r.Aim.holds(v):
		return "aim"
	case r.Must.holds(v):
		return "must"
	}
	return "no"
}

// name returns the name of the row for a table that is not a grid: Measure, followed by Column if it is set.
func (r Row) name() string {
	if r.Column == "" {
		return r.Measure
	}
	return r.Measure + ", " + r.Column
}

func (p Peer) text() string { return p.Name + " " + p.Unit.Text(Median(p.Rounds)) }

func (r Row) beside() string {
	var texts []string
	for _, peer := range r.Peers {
		texts = append(texts, peer.text())
	}
	if r.Note != "" {
		texts = append(texts, r.Note)
	}
	return strings.Join(texts, "; ")
}
