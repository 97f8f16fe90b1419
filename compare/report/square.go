package report

import (
	"cmp"
	"fmt"
	"strings"

	"coapply.dev/compare/summary"
)

// situation is a part of the first screen: the 2×2 of one situation.
type situation struct {
	Name         string
	Answer       []string
	Alone, Turns []half // without and with turns, one for each round-trip time
}

// half is a row of one of the two tables of a situation: both protocols and their comparison.
type half struct{ RTT, GMU, SSA, Ratio, CPU, Verdict, Class string }

func newSituations(s summary.Summary) []situation {
	var all []situation
	for _, square := range s.Squares {
		one := situation{Name: square.Situation, Answer: square.Answer}
		for _, row := range square.Rows {
			one.Alone = append(one.Alone, newHalf(row, 0))
			one.Turns = append(one.Turns, newHalf(row, 1))
		}
		all = append(all, one)
	}
	return all
}

// newHalf returns the row of a cell without turns (0) or with turns (1).
func newHalf(row summary.SquareRow, turns int) half {
	gmu, ssa := row.Arms[2*turns], row.Arms[2*turns+1]
	h := half{RTT: summary.Milliseconds(max(gmu.RTT, ssa.RTT)), GMU: figures(gmu), SSA: figures(ssa), Ratio: summary.NA, CPU: summary.NA}
	if c := row.Goodput[turns]; c.Family != "" {
		h.Ratio, h.Verdict, h.Class = times(c), verdict(c), class(c)
	}
	if c := row.CPU[turns]; c.Family != "" {
		h.CPU = times(c)
	}
	return h
}

// figures returns goodput, CPU of the API server, attempts and fairness of an arm.
func figures(row summary.Row) string {
	var parts []string
	for _, measure := range [][2]string{{goodput, "/s"}, {serverCPU, " ms CPU"}, {"server_attempts_per_write", " etcd attempts"}} {
		if e, ok := row.Measures[measure[0]]; ok {
			parts = append(parts, summary.Number(e.Mean)+measure[1])
		}
	}
	if e, ok := row.Measures["fairness"]; ok {
		parts = append(parts, fmt.Sprintf("fairness %.2f", e.Mean))
	}
	return cmp.Or(strings.Join(parts, ", "), summary.NA)
}
