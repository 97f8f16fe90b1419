package model

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

// truth is what the synthetic runs are made with.
var truth = map[string]armModel{
	"gmu-default-retry": {
		alone:      alone{read: line{1.5, 0.02}, write: line{2.8, 0.2}},
		parameters: parameters{cores: 1.8, repeated: 0.3, refused: 0.5, updated: 0.6, spread: 0.4, bend: 1.2},
	},
	"ssa": {
		alone:      alone{write: line{3, 0.2}},
		parameters: parameters{cores: 1.8, repeated: 0.4, behind: 0.2, spread: 0.4, bend: 1.2},
	},
}

var (
	seenPlaces   = []place{{1, 1, 0}, {1, 16, 0}, {4, 1, 0}, {4, 16, 0}, {16, 1, 0}, {16, 16, 0}, {4, 4, 0}}
	unseenPlaces = []place{{4, 64, 0}, {16, 4, 0}, {64, 4, 0}, {4, 4, 5 * time.Millisecond}}
)

// synthetic is a run whose trials the simulator made; the goodput of cells that the fit does not see is multiplied.
func synthetic(t *testing.T, distortion float64) (results.Run, []results.Trial) {
	t.Helper()
	run, trials := results.Run{Seed: 7}, known[distortion]
	if trials != nil {
		return run, slices.Clone(trials)
	}
	for _, arm := range []string{"ssa", "gmu-default-retry"} {
		for _, at := range slices.Concat(seenPlaces, unseenPlaces) {
			m := truth[arm]
			m.policy, m.reads, m.writes, m.managers = policies[arm], lognormal(0.3), lognormal(0.3), []int{1, 16}
			factor := 1.0
			if !m.sees(at) {
				factor = distortion
			}
			for block := range 10 {
				trials = append(trials, made(t, m, at, arm, factor, uint64(100+block)))
			}
		}
	}
	known[distortion] = trials
	return run, slices.Clone(trials)
}

// known are the synthetic trials, by distortion.
var known = map[float64][]results.Trial{}

func made(t *testing.T, m armModel, at place, arm string, factor float64, seed uint64) results.Trial {
	t.Helper()
	const warmup, measured = 200 * time.Millisecond, 1300 * time.Millisecond
	o := m.scene(at, milliseconds(warmup), milliseconds(measured), seed).simulate()
	landed := o.attempts - o.stale
	client := results.Client{StaleWrites: o.stale, Requests: map[string]results.Requests{
		"GET 200": times(t, o.attempts, m.read.at(at.managers)), "PUT 200": times(t, landed, m.write.at(at.managers)),
	}}
	if m.policy.applies {
		client = results.Client{Requests: map[string]results.Requests{"APPLY 200": times(t, landed, m.write.at(at.managers))}}
	}
	return results.Trial{
		Cell: compare.Cell{Workload: Workload, Parameters: compare.Parameters{
			Writers: at.writers, Objects: 1, Managers: at.managers, RTT: at.rtt, Warmup: warmup, Duration: measured,
		}},
		Arm: arm, Measured: measured, Timed: results.Counts{Landed: int(math.Round(factor * float64(o.landed)))},
		All:    results.Counts{Intents: o.ended, Landed: o.ended - o.gaveUp},
		Client: client, Server: results.Server{Updates: new(float64(o.attempts))},
	}
}

// times are as many requests of that mean.
func times(t *testing.T, count int, mean float64) results.Requests {
	t.Helper()
	h, random := results.NewHistogram(), rand.New(rand.NewPCG(1, 2))
	shape := lognormal(0.3)
	for range count {
		if err := h.RecordValue(int64(1000 * mean * shape(random))); err != nil {
			t.Fatal(err)
		}
	}
	encoded, err := results.EncodeHistogram(h)
	if err != nil {
		t.Fatal(err)
	}
	return results.Requests{Count: count, Histogram: encoded}
}

// undistorted is the model of the run that the simulator made.
var undistorted = sync.OnceValue(func() *results.Model { return Fit(results.Run{Seed: 7}, known[1]) })

// TestRecovers: of a run that the simulator made, the model says what came out in the cells that it did not see.
func TestRecovers(t *testing.T) {
	synthetic(t, 1)
	m := undistorted()
	if m == nil || !m.Accepted || m.Why != "" || m.ExtrapolatedManagers != 4 {
		t.Fatalf("not accepted: %+v", m)
	}
	if len(m.Fitted) != 2*len(seenPlaces) || len(m.Checked) != 2*len(unseenPlaces) || len(m.Extrapolation) != 2*33 {
		t.Errorf("%d cells fitted, %d checked, %d points beyond", len(m.Fitted), len(m.Checked), len(m.Extrapolation))
	}
	for _, c := range append(m.Fitted, m.Checked...) {
		if (c.Managers > 16) != (c.Outside != "") {
			t.Errorf("%d managers are outside: %q", c.Managers, c.Outside)
		}
		if off := math.Abs(c.Error); c.Outside == "" && off > 0.12 || off > 0.5 {
			t.Errorf("off by %.2f: %+v", off, c)
		}
		if c.BandLo <= 0 || c.BandHi < c.BandLo || c.MeasuredStale == nil || math.Abs(*c.MeasuredStale-c.Stale) > 0.1 {
			t.Errorf("cell %+v", c)
		}
	}
	for _, p := range m.Extrapolation {
		if !finite(p.Goodput) || p.Goodput <= 0 || p.Stale < 0 || p.Stale >= 1 || p.GiveUps < 0 || p.GiveUps > 1 {
			t.Errorf("point %+v", p)
		}
	}
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// TestRejects: cells that it did not see decide, and nothing is said beyond them.
func TestRejects(t *testing.T) {
	run, trials := synthetic(t, 1.4)
	m := Fit(run, slices.DeleteFunc(trials, func(tr results.Trial) bool { return tr.Arm == "ssa" }))
	if m == nil || m.Accepted || len(m.Extrapolation) > 0 || m.ExtrapolatedManagers != 0 {
		t.Fatalf("accepted: %+v", m)
	}
	for _, want := range []string{"no extrapolation of gmu-default-retry: ", "% (worst); 10 and 25 % are accepted"} {
		if !strings.Contains(m.Why, want) {
			t.Errorf("%q is not in %q", want, m.Why)
		}
	}
}

// TestOneArmOnly: an arm is accepted or not by itself.
func TestOneArmOnly(t *testing.T) {
	run, trials := synthetic(t, 1)
	_, distorted := synthetic(t, 0.6)
	for i := range trials {
		if trials[i].Arm == "ssa" {
			trials[i] = distorted[i]
		}
	}
	m := Fit(run, trials)
	if !m.Accepted || m.Arms["ssa"].Accepted || !m.Arms["gmu-default-retry"].Accepted || len(m.Extrapolation) != 33 {
		t.Errorf("accepted %v, arms %+v, %d points", m.Accepted, m.Arms, len(m.Extrapolation))
	}
}

func TestSameBytes(t *testing.T) {
	run, trials := synthetic(t, 1)
	first, second := encoded(t, undistorted()), encoded(t, Fit(run, trials))
	if !bytes.Equal(first, second) {
		t.Error("the same trials gave another model")
	}
}

func encoded(t *testing.T, m *results.Model) []byte {
	t.Helper()
	data, err := results.JSON(results.Results{Model: m})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestFewChecks: an arm that was hardly checked is not accepted.
func TestFewChecks(t *testing.T) {
	cells := []results.ModelCell{{Error: 0.01}, {Error: -0.02}}
	if v := judge(cells); v.Accepted || v.Why != "cells left to check it with: 2, and it takes 3" || *v.WorstError != 0.02 {
		t.Errorf("of two cells: %+v", v)
	}
	if v := judge(nil); v.Accepted || v.MedianError != nil || v.WorstError != nil {
		t.Errorf("of none: %+v", v)
	}
	if v := judge(append(cells, results.ModelCell{Error: -0.25})); !v.Accepted || *v.MedianError != 0.02 {
		t.Errorf("of three: %+v", v)
	}
	if v := judge(append(cells, results.ModelCell{Error: -0.26})); v.Accepted || v.Why == "" {
		t.Errorf("too far off: %+v", v)
	}
}
