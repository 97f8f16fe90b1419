package report

import (
	"fmt"
	"strings"
)

func (b *builder) title() string {
	profile := either(b.results.Run.Profile)
	if b.run.Profile != "" {
		profile = b.run.Profile
	}
	return fmt.Sprintf("Benchmark of writers to one API server: %s run", profile)
}

// facts stamp the page: what ran, when, and how much of it.
func (b *builder) facts() []fact {
	e := b.run.Environment
	return []fact{
		{"Run", stamp(b.run.Started)},
		{"Took", b.ended()},
		{"coapply", shortCommit(e.Commit)},
		{"API server", either(e.Server)},
		{"etcd", either(e.Etcd) + ", fsync " + either(e.EtcdFsync)},
		{"Go", either(e.Go)},
		{"Machine", machine(e.Cores, e.CPU)},
		{"Trials", b.trialCounts()},
		{"Seed", fmt.Sprint(b.run.Seed)},
	}
}

// shortCommit is enough to find it: the whole of it stands under Environment.
func shortCommit(hash string) string { return either(hash[:min(12, len(hash))]) }

func machine(n int, cpu string) string {
	if n == 0 {
		return either(cpu)
	}
	return plural(n, "core") + ", " + either(cpu)
}

func (b *builder) trialCounts() string {
	i := b.results.Run
	text := count(i.Trials) + " of " + count(i.Planned) + " planned"
	if i.VoidTrials > 0 {
		text += ", " + count(i.VoidTrials) + " of them void"
	}
	return text
}

// verdict tells what each line is about from what it says.
func (b *builder) verdict() []fact {
	var lines []fact
	for _, line := range b.results.Verdict {
		name, text, named := strings.Cut(line, ": ")
		if !named || strings.ContainsAny(name, " ") {
			name, text = "", line
		}
		lines = append(lines, fact{name, text})
	}
	return lines
}

// armList says what each arm of the run does.
func (b *builder) armList() []fact {
	var list []fact
	for _, a := range b.run.Arms {
		list = append(list, fact{a.Name, cut(a.Summary)})
	}
	return list
}

func (b *builder) alerts() []alert {
	var alerts []alert
	if b.results.Void != "" {
		alerts = append(alerts, alert{"This run is void: nothing of it counts.", cut(b.results.Void)})
	}
	interrupted := b.results.Run.Interrupted
	if b.run.Interrupted != "" {
		interrupted = b.run.Interrupted
	}
	switch {
	case interrupted != "":
		alerts = append(alerts, alert{"The run was interrupted.", cut(interrupted) + " — what was measured until then is below: " + b.trialCounts() + "."})
	case b.run.Ended == nil:
		alerts = append(alerts, alert{"The run has no end.", "It goes on, or was killed. What was measured is below: " + b.trialCounts() + "."})
	}
	for _, c := range b.results.Checks {
		if c.State == "failed" {
			alerts = append(alerts, alert{"A check failed: " + c.Name + ".", cut("Threat: " + c.Threat + ". Seen: " + c.Result)})
		}
	}
	return alerts
}
