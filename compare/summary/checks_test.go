package summary

import (
	"testing"
	"time"

	"coapply.dev/compare/results"
)

// TestChecksFail: each check that can fail does, when what it guards against happens.
func TestChecksFail(t *testing.T) {
	each := func(change func(*results.Trial)) func(*results.Run, []results.Trial) {
		return func(_ *results.Run, trials []results.Trial) {
			for i := range trials {
				change(&trials[i])
			}
		}
	}
	of := func(arm string, change func(*results.Trial)) func(*results.Run, []results.Trial) {
		return each(func(t *results.Trial) {
			if t.Arm == arm {
				change(t)
			}
		})
	}
	for name, change := range map[string]func(*results.Run, []results.Trial){
		"controls":     of("put-no-rv", func(t *results.Trial) { t.Oracle.Lost = 0 }),
		"nothing-lost": of("apply", func(t *results.Trial) { t.Oracle.Lost = 1 }),
		"phantoms":     of("apply", func(t *results.Trial) { t.Oracle.Phantom = 1 }),
		"a-a": each(func(t *results.Trial) {
			if t.AA {
				t.Timed.Landed /= 2
			}
		}),
		"porcupine":       of("ssa", func(t *results.Trial) { t.Oracle.Porcupine = "disagrees: ConfigMap/a" }),
		"accounting":      of("ssa", func(t *results.Trial) { t.Oracle.Acknowledged -= t.Oracle.Acknowledged / 20 }),
		"littles-law":     of("apply", func(t *results.Trial) { t.Timed.Landed, t.Timed.Intents = t.Timed.Landed*19/20, t.Timed.Landed*19/20 }),
		"generator-share": of("gmu", func(t *results.Trial) { t.Client.Own = t.Client.Busy }),
		"void-trials":     of("gmu", func(t *results.Trial) { t.Void = "the watch missed a revision" }),
		"fsync":           func(run *results.Run, _ []results.Trial) { run.Environment.EtcdFsync = "off" },
		"priority":        each(func(t *results.Trial) { t.Server.PriorityLevel = "exempt" }),
		"client-limiter":  of("gmu", func(t *results.Trial) { t.Client.LimiterWaits = 1 }),
		"connections":     each(func(t *results.Trial) { t.Client.Connections, t.Writers = 1, 101 }),
		"no-op":           each(func(t *results.Trial) { t.Server.Revisions-- }),
		"managers":        of("gmu-lanes", func(t *results.Trial) { t.Server.ManagedFieldsBytes = 1 }),
		"naive-rival":     func(run *results.Run, _ []results.Trial) { run.Plan = run.Plan[:6] },
		"warm-up":         each(func(t *results.Trial) { t.Warmup = 0 }),
		"shared-cores":    of("apply", func(t *results.Trial) { t.Client.CPU = 100 }),
		"drift":           each(func(t *results.Trial) { t.Timed.Landed *= 400 + t.Order }),
		"harness":         of("put-no-rv", func(t *results.Trial) { t.Oracle.Lost = 0 }),
	} {
		run, trials := made(6)
		for i := range trials {
			if name != "littles-law" { // reading histograms takes most of the time
				trials[i].Latency.Histogram, trials[i].Service.Histogram = "", ""
			}
		}
		change(&run, trials)
		for i := range run.Plan { // the plan follows parameters that were changed
			for _, trial := range trials {
				if trial.Workload == run.Plan[i].Workload && trial.Managers == run.Plan[i].Managers && trial.Arm == run.Plan[i].Arms[0] && trial.RTT == run.Plan[i].RTT {
					run.Plan[i].Cell = trial.Cell
				}
			}
		}
		if c := checkNamed(t, Of(run, trials), name); c.State != failed {
			t.Errorf("%s %s: %s", name, c.State, c.Result)
		}
	}
}

func checkNamed(t *testing.T, r results.Results, name string) results.Check {
	t.Helper()
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %s", name)
	return results.Check{}
}

// TestChecksNotApplicable: what a cluster does not show is n/a, neither passed nor failed.
func TestChecksNotApplicable(t *testing.T) {
	run, trials := made(6)
	run.Environment = results.Environment{QPS: -1}
	for i := range trials {
		trials[i].Server = results.Server{Revisions: trials[i].Server.Revisions}
		trials[i].Oracle.Porcupine = "undecided after 1s"
		trials[i].Rounds, trials[i].Warmup = 1, 0
	}
	for i := range run.Plan {
		run.Plan[i].AA, run.Plan[i].Rounds, run.Plan[i].Warmup = "", 1, time.Duration(0)
	}
	r := Of(run, trials)
	for _, name := range []string{
		"fsync", "priority", "server-retries", "cost-of-losing", "managers", "force", "encoding", "porcupine", "littles-law", "a-a",
		"shared-cores", "logging", "warm-up", "harness",
	} {
		if c := checkNamed(t, r, name); c.State != notApplicable || c.Result == "" {
			t.Errorf("%s %s: %s", name, c.State, c.Result)
		}
	}
	mentions(t, r.Verdict[1], "n/a")
}

func TestChecksAreTheTraps(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Of(made(6)).Checks {
		if seen[c.Name] {
			t.Errorf("%s twice", c.Name)
		}
		seen[c.Name] = true
	}
	if threats := len(setupThreats()) + len(fairnessThreats()) + len(trialThreats()); threats != 24 {
		t.Errorf("%d threats, want 24", threats)
	}
}
