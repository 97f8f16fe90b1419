package summary

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"coapply.dev/compare/decided"
	"coapply.dev/compare/statistics"
)

// Square is the 2×2 of one situation: two protocols, without and with turns, at several round-trip times.
type Square struct {
	Situation string      `json:"situation"` // the name of the situation
	Answer    []string    `json:"answer"`    // what the figures say, in sentences
	Rows      []SquareRow `json:"rows"`      // one for each cell that the run has measured
}

// SquareRow has the results of the four arms of the 2×2 in one cell.
type SquareRow struct {
	Cell string `json:"cell"` // the name of the cell
	// Arms are the results of get-modify-update and Server-Side Apply without turns, and of both with turns. An arm that
	// was not measured has no measures.
	Arms [4]Row `json:"-"`
	// Comparisons by goodput and by CPU of the API server: Server-Side Apply against get-modify-update, without and with turns.
	Goodput, CPU [2]Comparison `json:"-"`
}

// squares returns the 2×2 of each situation of which the run has cells.
func (s Summary) squares(decisions decided.File) []Square {
	arms := [4]string{decisions.Square.GMU, decisions.Square.SSA, decisions.Square.GMUTurns, decisions.Square.SSATurns}
	var all []Square
	for _, situation := range decisions.Square.Situations {
		square := Square{Situation: situation.Name}
		for _, cell := range situation.Cells {
			row := SquareRow{Cell: cell}
			measured := false
			for i, arm := range arms {
				for _, r := range s.Rows {
					if r.Name == cell && r.Arm == arm && !r.AA && !r.Control {
						row.Arms[i], measured = r, true
					}
				}
			}
			for i, family := range []string{Protocol, ProtocolTurns} {
				row.Goodput[i], _ = s.Of(family, cell, goodput)
				row.CPU[i], _ = s.Of(family, cell, serverCPU)
			}
			if measured {
				square.Rows = append(square.Rows, row)
			}
		}
		if len(square.Rows) > 0 {
			square.Answer = []string{"No answer: the run is void."}
			if s.Void == "" {
				square.Answer = s.answer(situation)
			}
			all = append(all, square)
		}
	}
	return all
}

// answer says what the comparisons of a situation show, a sentence for each question.
func (s Summary) answer(situation decided.Situation) []string {
	var sentences []string
	for _, q := range []struct{ family, text string }{
		{Protocol, "Without turns"}, {ProtocolTurns, "With turns"},
		{TurnsSSA, "Server-Side Apply with turns against without"}, {TurnsGMU, "get-modify-update with turns against without"},
	} {
		shown := s.shown(q.family, goodput, situation.Cells, s.roundTrips)
		if cost := s.shown(q.family, serverCPU, situation.Cells, s.roundTrips); shown != "" && cost != "" {
			shown += "; " + cost
		}
		if shown != "" {
			sentences = append(sentences, q.text+": "+shown+".")
		}
	}
	if len(sentences) == 0 {
		sentences = []string{"No verdict: the tables give the reasons, or there are too few valid trials."}
	}
	return sentences
}

// roundTrips names cells by their round-trip times, such as "at 0 ms and 5 ms".
func (s Summary) roundTrips(cells []string, all bool) string {
	if all {
		return "at every round-trip time"
	}
	var names []string
	for _, cell := range cells {
		for _, row := range s.Rows {
			if name := Milliseconds(row.RTT); row.Name == cell && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return "at " + list(names)
}

// count names cells by their number.
func (Summary) count(cells []string, _ bool) string { return "in " + plural(len(cells), "cell") }

// verdicts has the words for the verdicts by a measure.
var verdicts = map[string]map[statistics.Verdict]string{
	goodput: {
		statistics.Better: "more writes land", statistics.Worse: "fewer writes land", statistics.Equivalent: "as many writes land",
		statistics.Undecided: "undecided",
	},
	serverCPU: {
		statistics.Better: "a write costs the API server less CPU", statistics.Worse: "a write costs the API server more CPU",
		statistics.Equivalent: "a write costs as much CPU", statistics.Undecided: "CPU is undecided",
	},
	protocols + goodput: {
		statistics.Better: "Server-Side Apply lands more writes", statistics.Worse: "get-modify-update lands more writes",
		statistics.Equivalent: "both land as many writes", statistics.Undecided: "undecided",
	},
	protocols + serverCPU: {
		statistics.Better: "a write by Server-Side Apply costs the API server less CPU", statistics.Worse: "a write by Server-Side Apply costs the API server more CPU",
		statistics.Equivalent: "both cost as much CPU", statistics.Undecided: "CPU is undecided",
	},
}

// protocols is the prefix of the keys of words for comparisons of both protocols.
const protocols = "protocols "

// shown describes the verdicts of a family in some cells by goodput or CPU, with the ranges of the ratios. The function
// where names the cells of a verdict, given whether they are all of several. It returns "" if the run has none of the comparisons.
func (s Summary) shown(family, measure string, cells []string, where func(cells []string, all bool) string) string {
	var parts []string
	words := verdicts[measure]
	if family == Protocol || family == ProtocolTurns {
		words = verdicts[protocols+measure]
	}
	compared := slices.DeleteFunc(slices.Clone(cells), func(cell string) bool {
		c, found := s.Of(family, cell, measure)
		return !found || c.Ratio == 0
	})
	for _, verdict := range []statistics.Verdict{statistics.Better, statistics.Worse, statistics.Equivalent, statistics.Undecided} {
		var in []string
		lo, hi := math.Inf(1), 0.0
		for _, cell := range cells {
			if c, found := s.Of(family, cell, measure); found && c.Verdict == verdict {
				in, lo, hi = append(in, cell), min(lo, c.Ratio), max(hi, c.Ratio)
			}
		}
		place := where(in, len(in) > 1 && len(in) == len(compared))
		switch {
		case len(in) == 0:
		case digits(lo) == digits(hi):
			parts = append(parts, fmt.Sprintf("%s %s (%s×)", words[verdict], place, digits(lo)))
		default:
			parts = append(parts, fmt.Sprintf("%s %s (%s to %s×)", words[verdict], place, digits(lo), digits(hi)))
		}
	}
	return strings.Join(parts, "; ")
}
