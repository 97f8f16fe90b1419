package model

import (
	"slices"
	"testing"

	"coapply.dev/compare/results"
)

// TestNothing: there is no model of what was not measured.
func TestNothing(t *testing.T) {
	run, trials := synthetic(t, 1)
	only := func(keep func(results.Trial) bool) (some []results.Trial) {
		for _, tr := range trials {
			if keep(tr) {
				some = append(some, tr)
			}
		}
		return some
	}
	for name, some := range map[string][]results.Trial{
		"nil":              nil,
		"one writer":       only(func(tr results.Trial) bool { return tr.Writers == 1 }),
		"several writers":  only(func(tr results.Trial) bool { return tr.Writers > 1 }),
		"no fitted crowds": only(func(tr results.Trial) bool { return tr.Writers == 1 || tr.Managers == 4 && tr.Writers > 4 }),
		"nothing landed": changed(trials, func(tr *results.Trial) {
			if tr.Writers == 1 {
				tr.Timed.Landed = 0
			}
		}),
		"no histograms": changed(trials, func(tr *results.Trial) { tr.Client.Requests = nil }),
		"broken histograms": changed(trials, func(tr *results.Trial) {
			tr.Client.Requests = map[string]results.Requests{"APPLY 200": {Count: 1, Histogram: "?"}, "GET 200": {Count: 1, Histogram: "?"}}
		}),
		"no time": changed(trials, func(tr *results.Trial) { tr.Measured = 0 }),
	} {
		if m := Fit(run, some); m != nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func changed(trials []results.Trial, change func(*results.Trial)) []results.Trial {
	some := append([]results.Trial(nil), trials...)
	for i := range some {
		change(&some[i])
	}
	return some
}

// TestLeftOut: trials that the model is not of change nothing.
func TestLeftOut(t *testing.T) {
	_, trials := synthetic(t, 1)
	want := cellsOf(trials)
	for name, change := range map[string]func(*results.Trial){
		"void":           func(tr *results.Trial) { tr.Void = "it went wrong" },
		"A/A":            func(tr *results.Trial) { tr.AA = true },
		"other workload": func(tr *results.Trial) { tr.Workload = "increment" },
		"control":        func(tr *results.Trial) { tr.Arm = "put-no-rv" },
		"two objects":    func(tr *results.Trial) { tr.Objects = 2 },
		"overlap":        func(tr *results.Trial) { tr.Overlap = 0.1 },
		"open loop":      func(tr *results.Trial) { tr.Rate = 5 },
		"large":          func(tr *results.Trial) { tr.Bytes = 5 },
		"rounds":         func(tr *results.Trial) { tr.Rounds = 5 },
		"no writers":     func(tr *results.Trial) { tr.Writers = 0 },
		"no managers":    func(tr *results.Trial) { tr.Managers = 0 },
	} {
		got := cellsOf(append(changed(trials, change), trials...))
		for arm, cells := range got {
			if len(cells) != len(want[arm]) || len(cells[0].trials) != len(want[arm][0].trials) {
				t.Errorf("%s: %d cells of %s, want %d", name, len(cells), arm, len(want[arm]))
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d arms, want %d", name, len(got), len(want))
		}
	}
}

// TestUnknownStale: where the server does not tell, the share of stale writes is n/a, and the fit goes by goodput.
func TestUnknownStale(t *testing.T) {
	run, trials := synthetic(t, 1)
	trials = slices.DeleteFunc(trials, func(tr results.Trial) bool { return tr.Arm != "ssa" })
	m := Fit(run, changed(trials, func(tr *results.Trial) { tr.Server.Updates = nil }))
	for _, c := range append(m.Fitted, m.Checked...) {
		if c.MeasuredStale != nil {
			t.Errorf("stale %v: %+v", *c.MeasuredStale, c)
		}
		if c.Writers > 1 && c.Stale == 0 {
			t.Errorf("none predicted: %+v", c)
		}
	}
}
