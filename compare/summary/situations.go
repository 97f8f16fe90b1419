package summary

import (
	"fmt"
	"slices"
	"strings"
)

// Situation is one row of the table "your situation → use this → because" of the report.
type Situation struct {
	Situation string   `json:"situation"` // a description of the situation
	Cell      string   `json:"cell"`      // the name of the cell that was measured for it
	Use       []string `json:"use"`       // the best arm, or several if none was shown to be better; empty without a verdict
	Because   string   `json:"because"`   // the measured values, as the reason
}

// situations returns the situations of decided.yaml whose cells the run has measured. If there are none, it
// returns one situation for each primary cell.
func (r *reckoning) situations() []Situation {
	var all []Situation
	for _, s := range r.decided.Situations {
		if c, found := r.contest(s.Cell, s.Measure); found {
			all = append(all, situation(r.rows(), s.Situation, c))
		}
	}
	if len(all) > 0 {
		return all
	}
	for _, name := range r.primary {
		if c, found := r.contest(name, goodput); found {
			cell, _ := r.planned(name)
			all = append(all, situation(r.rows(), Phrase(cell.Cell), c))
		}
	}
	return all
}

// inWords maps the name of a measure to its unit as written in a sentence.
var inWords = map[string]string{
	goodput: "intents a second", serverCPU: "ms of the API server's CPU", "p99_ms": "ms for 99 in 100", "requests_per_intent": "requests an intent",
}

func situation(rows []Row, text string, c Contest) Situation {
	s := Situation{Situation: text, Cell: c.Cell, Use: c.Shared}
	switch {
	case c.Why != "":
		s.Because = "no verdict: " + c.Why
		return s
	case c.Winner != "":
		s.Use = []string{c.Winner}
	}
	s.Because = because(rows, c)
	if out := outsiders(c); out != "" {
		s.Because += "; " + out
	}
	return s
}

func because(rows []Row, c Contest) string {
	mean := func(arm string) string {
		for _, row := range rows {
			if row.Name == c.Cell && row.Arm == arm && !row.AA {
				return Number(row.Measures[c.Measure].Mean)
			}
		}
		return NA
	}
	value := mean(c.Arms[0]) + " " + either(inWords[c.Measure], c.Measure)
	behind := c.Arms[max(1, len(c.Shared)):]
	switch {
	case len(c.Arms) == 1:
		return value + ", and no other arm was eligible"
	case c.Winner != "" && c.Ratio > 0:
		return fmt.Sprintf("%s, which is %s the value of %s", value, Times(c.Ratio, c.Lo, c.Hi), arm(c.Arms[1]))
	case c.Ratio == 0 && len(behind) > 0:
		return fmt.Sprintf("%s, %s %s", value, arm(behind[0]), mean(behind[0]))
	case c.Ratio == 0:
		return value
	}
	return fmt.Sprintf("%s, not shown to beat %s (%s)", value, arms(c.Shared[1:], "and"), Times(c.Ratio, c.Lo, c.Hi))
}

// outsiders returns a text that names the arms that were excluded from a contest, grouped by the reason.
func outsiders(c Contest) string {
	byReason := map[string][]string{}
	for name, why := range c.Out {
		byReason[why] = append(byReason[why], name)
	}
	var parts []string
	for why, names := range byReason {
		slices.Sort(names)
		parts = append(parts, arms(names, "and")+" "+why)
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
