package summary

import (
	"testing"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

func states(r results.Results) map[string]string {
	states := map[string]string{}
	for _, h := range r.Hypotheses {
		states[h.Name] = h.State
	}
	return states
}

// manyObjects turns the cell of one writer into one on objects enough for a cache to keep up.
func manyObjects(run results.Run, trials []results.Trial) {
	run.Plan[0].Objects = 64
	for i := range trials {
		if trials[i].Workload == "hot-object" && trials[i].Writers == 1 {
			trials[i].Objects = 64
		}
	}
}

func TestHypotheses(t *testing.T) {
	run, trials := made(6)
	if got := states(Of(run, trials))["H1"]; got != notTested {
		t.Errorf("H1 on one object, where every cached read is stale: %s", got)
	}
	manyObjects(run, trials)
	r := Of(run, trials)
	got := states(r)
	for name, want := range map[string]string{
		"H1": undecided, // gmu-cached was not measured in the cell
		"H2": notTested, "H3": holds, "H4": doesNotHold, "H5": holds, "H6": holds, "H7": holds, "H8": undecided,
	} {
		if got[name] != want {
			t.Errorf("%s %s, want %s", name, got[name], want)
		}
	}
	mentions(t, r.Hypotheses[0].Measured, "gmu-cached there was not measured")
}

// TestHypothesesFail: each is against the data when the data is against it.
func TestHypothesesFail(t *testing.T) {
	for name, change := range map[string]func(*results.Trial){
		"H1": func(t *results.Trial) { slow(t, "ssa", 1) },
		"H2": func(t *results.Trial) { slow(t, "ssa", 16) },
		"H3": func(t *results.Trial) { slow(t, "gmu-unbounded", 16) },
		"H5": func(t *results.Trial) { t.Client.StaleWrites++ },
		"H6": func(t *results.Trial) {
			if t.RTT > 0 {
				slow(t, "ssa", 16)
			}
		},
		"H7": func(t *results.Trial) { t.Client.Requests["GET 200"] = results.Requests{Count: t.All.Landed} },
		"H8": func(t *results.Trial) { t.Oracle.Lost++ },
	} {
		run, trials := made(6)
		manyObjects(run, trials)
		for i := range trials {
			trials[i].Latency.Histogram, trials[i].Service.Histogram = "", ""
			change(&trials[i])
			if name == "H2" && trials[i].Managers == 64 { // a cell with a manager for each writer
				trials[i].Managers = 16
			}
		}
		if name == "H2" {
			run.Plan[3].Managers = 16
		}
		if got := states(Of(run, trials))[name]; got != doesNotHold {
			t.Errorf("%s %s", name, got)
		}
	}
}

func slow(t *results.Trial, arm string, writers int) {
	if t.Arm == arm && t.Writers == writers {
		t.Timed.Landed = max(1, t.Timed.Landed/20)
	}
}

func TestClaims(t *testing.T) {
	run, trials := made(6)
	for i := range run.Plan {
		if run.Plan[i].Workload == "ten-reconcilers" {
			run.Plan[i].Rounds = 30
		}
	}
	for i := range trials {
		if trials[i].Workload == "ten-reconcilers" {
			trials[i].Rounds = 30
			trials[i].Extra = results.Numbers{"duplicates": 2}
		}
	}
	run.Workloads[1].Claims[0].Measure = "give_up_rate"
	more := run.Workloads[1].Claims[0]
	for _, measure := range []string{"extra.duplicates", "stale_writes_per_intent", "latency_ms", "goodput_per_s", "no_such_thing", ""} {
		more.Measure = measure
		run.Workloads[1].Claims = append(run.Workloads[1].Claims, more)
	}
	more.Arm, more.Measure = "merge-patch", "give_ups"
	run.Workloads[1].Claims = append(run.Workloads[1].Claims, more)
	run.Workloads[0].Claims = []compare.Claim{
		{Arm: "ssa", Against: "gmu-default-retry"}, {Arm: "ssa", Against: "gmu-lanes"}, {Arm: "ssa", Against: "gmu-cached"},
	}
	claims := Of(run, trials).Claims
	wants := [][]string{
		{"goodput of ssa against gmu-default-retry", "times [", "(hot-object w16 m64)", "(hot-object w16 m4 rtt5ms)"},
		{"against gmu-lanes", "(hot-object w1 m1)"}, {"no cell of this run has both ssa and gmu-cached"},
		{"give up rate 85.5 %", "gmu in ten-reconcilers w10 m10", "6 trials"},
		{"13.1", "GET 200", "PUT 409", "for a round"},
		{"duplicates 2 (gmu"}, {"0.85"}, {"ms in the mean"}, {"/s"}, {"n/a"}, {"not measured by a number"}, {"merge-patch was not measured"},
	}
	if len(claims) != len(wants) {
		t.Fatalf("%d claims, want %d", len(claims), len(wants))
	}
	for i, want := range wants {
		mentions(t, claims[i].Measured, want...)
	}
	if claims[4].Contradiction == "" {
		t.Error("the contradiction is gone")
	}
}
