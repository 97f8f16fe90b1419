// Package measure is the table of what speed is promised: for each measure what must be, what is aimed at, and what was
// measured, with its peers beside it.
package measure

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Unit of a measure's values.
type Unit string

// Units.
const (
	Times    Unit = "times" // one thing against another
	Requests Unit = "requests"
	Time     Unit = "time" // in seconds
	Count    Unit = "count"
	Share    Unit = "share"
	Bytes    Unit = "bytes"
	Rate     Unit = "per second"
)

// Text shows a value.
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

// digits are three that count.
func digits(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e6 {
		return fmt.Sprintf("%.0f", v)
	}
	if math.Abs(v) >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// Bound is what a measure is held to.
type Bound struct {
	AtLeast bool    `json:"atLeast"` // otherwise at most
	Value   float64 `json:"value"`
}

// AtLeast is the bound from below.
func AtLeast(v float64) Bound { return Bound{AtLeast: true, Value: v} }

// AtMost is the bound from above.
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

// Peer is what another way came to in the same measure.
type Peer struct {
	Name   string    `json:"name"`
	Unit   Unit      `json:"unit"`
	Rounds []float64 `json:"rounds"`
}

// Row is a measure and what came of it.
type Row struct {
	ID string `json:"id"`
	// Series is what rows have in common that follow each other and have the same bounds and peers; "" of a row by itself.
	Series  string `json:"series,omitempty"`
	Measure string `json:"measure"`
	// Column is where the row stands in a grid: rows of one series that follow each other, each Measure with every Column.
	Column string `json:"column,omitempty"`
	Unit   Unit   `json:"unit"`
	Must   Bound  `json:"must"`
	Aim    Bound  `json:"aim"`
	// Rounds are the values of the rounds; none if nothing was measured.
	Rounds []float64 `json:"rounds"`
	Peers  []Peer    `json:"peers,omitempty"`
	// Note says what a reader has to know, such as what makes the measured value a bound of the real one.
	Note string `json:"note,omitempty"`
}

// Median of the rounds; not a number if there are none.
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

// spread is the median with the least and the greatest round.
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

// Met says which of the two bounds the median keeps: "aim", "must", "no", or "not measured".
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

// name of the row where it does not stand in a grid.
func (r Row) name() string {
	if r.Column == "" {
		return r.Measure
	}
	return r.Measure + ", " + r.Column
}

// text is a peer's name with its median.
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
