package summary

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// setupThreats are the first eight threats: how server and client are set up, and what the server does unseen.
func setupThreats() []check {
	return []check{
		{
			"fsync", "etcd does not wait for the disk (envtest's default)", "the headline needs fsync, on a disk whose speed is printed",
			fsync,
		},
		{
			"priority", "members of system:masters are exempt from priority and fairness", "an ordinary user; its level is asked",
			priority,
		},
		{
			"client-limiter", "client-go's rate limiter is measured, not the server; arms with more calls suffer first",
			"QPS -1 for all arms, and no request may have waited", limiter,
		},
		{
			"connections", "one HTTP/2 connection carries 100 streams: writers wait for each other",
			"connections are counted; at most 100 writers on each", connections,
		},
		{
			"server-retries", "the server repeats a lost race of Server-Side Apply where no client sees it",
			"the server's attempts are counted, and \"no stale writes\" means: none that the client sees", serverRetries,
		},
		{
			"cost-of-losing", "a refused PUT is cheap, a lost attempt inside the server is not",
			"CPU and failed transactions for each intent that landed, of API server and etcd", costOfLosing,
		},
		{
			"no-op", "the server skips a write that changes nothing",
			"each value is unique: on hot-object every acknowledged write has to give a revision", noOp,
		},
		{
			"steady-state-writes", "some applies that change nothing still write (times in managedFields have a granularity of 1 s)",
			"a workload of its own counts the revisions of intents that change nothing", steadyWrites,
		},
	}
}

func fsync(r *reckoning) (verdict, seen string) {
	e := r.run.Environment
	disk := fmt.Sprintf("4 KiB with fsync: p50 %s, p99 %s", durationText(e.FsyncP50), durationText(e.FsyncP99))
	if e.EtcdFsync == "" {
		return notApplicable, "this cluster does not show it; " + disk
	}
	return state(e.EtcdFsync == "on"), fmt.Sprintf("fsync is %s; %s on %s", e.EtcdFsync, disk, either(e.FileSystem, "n/a"))
}

func durationText(d *time.Duration) string {
	if d == nil {
		return "n/a"
	}
	return d.Round(time.Microsecond).String()
}

func either(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func priority(r *reckoning) (verdict, seen string) {
	e := r.run.Environment
	levels := map[string]int{}
	var names []string
	queued, known := 0.0, false
	for _, t := range r.counting() {
		level := t.Server.PriorityLevel
		if level != "" && levels[level] == 0 {
			names = append(names, level)
		}
		levels[level]++
		if t.Server.QueueSeconds != nil {
			queued, known = queued+*t.Server.QueueSeconds, true
		}
	}
	if len(names) == 0 {
		return notApplicable, fmt.Sprintf("user %s; this cluster does not show the priority level", either(e.User, "n/a"))
	}
	waited := "n/a"
	if known {
		waited = fmt.Sprintf("%.3g s", queued)
	}
	slices.Sort(names)
	ordinary := !slices.Contains(names, "exempt") && !slices.Contains(e.Groups, "system:masters")
	return state(ordinary), fmt.Sprintf("user %s, level %s in %s of %s; its requests waited %s in queues, over all trials",
		either(e.User, "n/a"), strings.Join(names, ", "), count(len(r.counting())-levels[""]), plural(len(r.counting()), "trial"), waited)
}

func limiter(r *reckoning) (verdict, seen string) {
	waits := 0
	for _, t := range r.trials {
		waits += t.Client.LimiterWaits
	}
	qps := r.run.Environment.QPS
	return state(qps == -1 && waits == 0), fmt.Sprintf("QPS %g; %d requests waited", qps, waits)
}

func connections(r *reckoning) (verdict, seen string) {
	const streams = 100
	crowded := 0
	fewest, most := -1, 0
	var protocols []string
	for _, t := range r.counting() {
		c := t.Client
		if c.Connections == 0 {
			continue
		}
		if fewest < 0 || c.Connections < fewest {
			fewest = c.Connections
		}
		most = max(most, c.Connections)
		if t.Writers > streams*c.Connections {
			crowded++
		}
		if c.Protocol != "" && !slices.Contains(protocols, c.Protocol) {
			protocols = append(protocols, c.Protocol)
		}
	}
	if fewest < 0 {
		return notApplicable, "no trial opened a connection that was counted"
	}
	slices.Sort(protocols)
	return state(crowded == 0), fmt.Sprintf("%d to %d connections a trial, %s; in %d trials more than %d writers to a connection",
		fewest, most, either(strings.Join(protocols, ", "), "protocol n/a"), crowded, streams)
}

func serverRetries(r *reckoning) (verdict, seen string) {
	worst, at := 0.0, ""
	for _, g := range r.where(func(g group) bool { return slices.Contains(appliers, g.arm) && g.result.ServerAttempts != nil }) {
		if a := *g.result.ServerAttempts; a >= worst {
			worst, at = a, g.label()
		}
	}
	if at == "" {
		return notApplicable, "this cluster does not show etcd_requests_total"
	}
	return stated, fmt.Sprintf("counted: of Server-Side Apply up to %.3g attempts for each acknowledged write (%s)", worst, at)
}

func costOfLosing(r *reckoning) (verdict, seen string) {
	cpu := r.where(func(g group) bool { return g.result.APIServerCPU != nil && g.result.EtcdCPU != nil })
	waste := r.where(func(g group) bool { return g.result.FailedTransactions != nil })
	if len(cpu) == 0 {
		return notApplicable, "this cluster does not show the CPU of its API server and etcd"
	}
	all := len(r.where(func(group) bool { return true }))
	return stated, fmt.Sprintf("CPU of both of %d of %d arms in cells, failed transactions of %d", len(cpu), all, len(waste))
}

func noOp(r *reckoning) (verdict, seen string) {
	acknowledged, revisions := 0, 0
	for _, g := range r.where(func(g group) bool { return g.cell.Workload == "hot-object" }) {
		for _, t := range g.trials {
			acknowledged, revisions = acknowledged+t.Oracle.Acknowledged, revisions+t.Server.Revisions
		}
	}
	if acknowledged == 0 {
		return notApplicable, "hot-object was not measured"
	}
	return state(revisions >= acknowledged), fmt.Sprintf("%s gave %s", plural(acknowledged, "acknowledged write"), plural(revisions, "revision"))
}

func steadyWrites(r *reckoning) (verdict, seen string) {
	var rows []string
	for _, g := range r.where(func(g group) bool { return g.cell.Workload == "steady-state" && g.result.Revisions != nil }) {
		rows = append(rows, fmt.Sprintf("%s %.3g", g.arm, *g.result.Revisions))
	}
	if len(rows) == 0 {
		return notApplicable, "steady-state was not measured"
	}
	return stated, "revisions for each intent that changes nothing: " + strings.Join(rows, ", ")
}
