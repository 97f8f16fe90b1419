package model

import (
	"cmp"
	"slices"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

// Workload that the model is of.
const Workload = "hot-object"

// place is what tells the cells of one arm apart.
type place struct {
	writers, managers int
	rtt               time.Duration
}

// cell is one arm in one cell, over its trials that count.
type cell struct {
	place

	trials []results.Trial
}

// cellsOf gives the cells of the arms that the model knows, in order.
func cellsOf(trials []results.Trial) map[string][]cell {
	byArm := map[string][]cell{}
	for _, t := range trials {
		if _, known := policies[t.Arm]; !known || !counts(t) {
			continue
		}
		at := place{t.Writers, t.Managers, t.RTT}
		cells := byArm[t.Arm]
		i := slices.IndexFunc(cells, func(c cell) bool { return c.place == at })
		if i < 0 {
			i = len(cells)
			cells = append(cells, cell{place: at})
		}
		cells[i].trials = append(cells[i].trials, t)
		byArm[t.Arm] = cells
	}
	for _, cells := range byArm {
		slices.SortFunc(cells, func(a, b cell) int {
			return cmp.Or(cmp.Compare(a.rtt, b.rtt), cmp.Compare(a.writers, b.writers), cmp.Compare(a.managers, b.managers))
		})
	}
	return byArm
}

// counts says that the trial is of a closed loop on one small object, each writer at fields of its manager, and went well.
func counts(t results.Trial) bool {
	rest := t.Parameters
	rest.Writers, rest.Managers, rest.RTT, rest.Warmup, rest.Duration = 0, 0, 0, 0, 0
	return t.Workload == Workload && t.Void == "" && !t.AA && rest == (compare.Parameters{Objects: 1}) &&
		t.Writers >= 1 && t.Managers >= 1 && t.Measured > 0
}

// goodput is the mean over trials, as the results have it.
func (c cell) goodput() float64 {
	sum := 0.0
	for _, t := range c.trials {
		sum += *t.Goodput() // they have a time
	}
	return sum / float64(len(c.trials))
}

// giveUps is the share of intents that did not land.
func (c cell) giveUps() float64 {
	given, all := 0, 0
	for _, t := range c.trials {
		given, all = given+t.All.GiveUps(), all+t.All.Intents
	}
	return short(share(float64(given), float64(all)))
}

// stale is the share of attempts that were stale writes, those inside the server included; nil if it does not tell.
func (c cell) stale() *float64 {
	attempts, stale := 0.0, 0.0
	for _, t := range c.trials {
		if policies[t.Arm].applies {
			if t.Server.Updates == nil {
				return nil
			}
			attempts += *t.Server.Updates
			stale += max(0, *t.Server.Updates-float64(t.Client.Requests["APPLY 200"].Count))
			continue
		}
		attempts += float64(t.Client.Requests["PUT 200"].Count + t.Client.StaleWrites)
		stale += float64(t.Client.StaleWrites)
	}
	return new(short(share(stale, attempts)))
}

// share is 0 of nothing.
func share(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}
