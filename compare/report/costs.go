package report

import (
	"maps"
	"slices"
	"strings"

	"coapply.dev/compare/results"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// isRead tells requests that read by their verb: "GET 200".
func isRead(request string) bool {
	verb, _, _ := strings.Cut(request, " ")
	return slices.Contains([]string{"GET", "LIST", "WATCH", "HEAD"}, strings.ToUpper(verb))
}

// costs is what an intent that landed cost, in one cell.
func (b *builder) costs(cell *cellGroup) table {
	t := table{Title: "Cost of an intent that landed", Columns: columns("arm", "#API server CPU ms", "#etcd CPU ms", "#client CPU ms",
		"#API server allocations", "#API server ms of writes", "#etcd updates", "#failed transactions", "#revisions", "#watch events",
		"#bytes up", "#bytes down", "#managed fields bytes", "#object bytes")}
	for _, r := range cell.Results {
		t.addArm(b.palette.of(r.Arm), "", r.Arm, mean(r.APIServerCPU), mean(r.EtcdCPU), mean(r.ClientCPU),
			maybe(r.APIServerAllocs), maybe(r.RequestMs), maybe(r.ServerAttempts), maybe(r.FailedTransactions), maybe(r.Revisions),
			maybe(r.WatchEvents), maybe(r.BytesUp), maybe(r.BytesDown), maybe(r.ManagedFields), maybe(r.ObjectBytes))
	}
	return t.withoutEmpty()
}

// extras is what a workload alone counts, such as pods that are one too many.
func (b *builder) extras(cell *cellGroup) table {
	var names []string
	for _, r := range cell.Results {
		names = append(names, sortedKeys(r.Extra)...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	t := table{Title: "What this workload counts, mean over trials"}
	if len(names) == 0 {
		return t
	}
	head := []string{"arm"}
	for _, name := range names {
		head = append(head, "#"+name)
	}
	t.Columns = columns(head...)
	for _, r := range cell.Results {
		cells := []string{r.Arm}
		for _, name := range names {
			v, has := r.Extra[name]
			if !has {
				cells = append(cells, na)
				continue
			}
			cells = append(cells, number(v))
		}
		t.addArm(b.palette.of(r.Arm), "", cells...)
	}
	return t
}

// everyCell is the appendix: all results, those of A/A and of controls included.
func (b *builder) everyCell() []table {
	speed := table{Title: "Speed and latency", Columns: columns("cell and arm", "#trials", "#void", "#goodput /s", "#p50 ms", "#p95 ms", "#p99 ms", "#max ms",
		"#in the arm: p50 ms", "#p99 ms", "#fairness", "#load generator", "no verdict because")}
	outcome := table{Title: "What came of the intents", Columns: columns("cell and arm", "#intents", "#acknowledged", "#given up", "#share", "#lost updates",
		"#upper bound, 95 %", "#stolen", "#phantom", "#ownership conflicts", "#stale writes", "#throttled", "#requests per intent", "requests per intent, by answer")}
	cost := table{Title: "Cost of an intent that landed", Columns: columns("cell and arm", "#API server CPU ms", "#etcd CPU ms", "#client CPU ms", "#allocations",
		"#ms of writes", "#etcd updates", "#failed transactions", "#revisions", "#watch events", "#bytes up", "#bytes down", "#object bytes", "#managed fields bytes")}
	for _, r := range b.results.Cells {
		name, arm, soft := resultName(r), b.palette.of(r.Arm), ""
		if r.NoVerdict != "" || r.Trials == 0 {
			soft = "soft"
		}
		in, service := percentileCells(r.Latency), percentileCells(r.Service)
		speed.addArm(arm, soft, name, count(r.Trials), count(r.Void), interval(r.Goodput), in[0], in[1], in[2], in[3],
			service[0], service[2], maybe(r.Fairness), little(r.GeneratorShare), r.NoVerdict)
		outcome.addArm(arm, soft, name, count(r.Intents), count(r.Acknowledged), count(r.GiveUps), percent(r.GiveUpShare), count(r.LostUpdates),
			percent(r.LostUpper), count(r.Stolen), count(r.Phantom), count(r.Conflicts), count(r.StaleWrites), count(r.Throttled),
			maybe(r.RequestsPerIntent), verbs(r))
		cost.addArm(arm, soft, name, interval(r.APIServerCPU), interval(r.EtcdCPU), interval(r.ClientCPU), maybe(r.APIServerAllocs),
			maybe(r.RequestMs), maybe(r.ServerAttempts), maybe(r.FailedTransactions), maybe(r.Revisions), maybe(r.WatchEvents),
			maybe(r.BytesUp), maybe(r.BytesDown), maybe(r.ObjectBytes), maybe(r.ManagedFields))
	}
	return []table{speed, outcome, cost}
}

func resultName(r results.Result) string {
	name := r.Cell().String() + ", " + r.Arm
	if r.AA {
		name += " (A/A)"
	}
	if r.Control {
		name += " (control)"
	}
	return name
}

func verbs(r results.Result) string {
	var parts []string
	for _, name := range sortedKeys(r.Verbs) {
		parts = append(parts, name+" × "+number(r.Verbs[name]))
	}
	if len(parts) == 0 {
		return na
	}
	return strings.Join(parts, ", ")
}

// overview is one table of all arms in all cells, for Markdown.
func (b *builder) overview() table {
	t := table{Columns: columns("cell", "arm", "#goodput /s", "#p50 ms", "#p99 ms", "#requests/intent", "#given up", "#lost", "#API server CPU ms", "against the baseline")}
	for _, r := range b.results.Cells {
		if r.AA {
			continue
		}
		word := r.NoVerdict
		if c, found := b.comparison(keyOf(r), r.Arm); found {
			word = c.Word
			if drawable(c) {
				word = ratioText(c, true) + " " + rangeText(c) + " " + c.Word
			}
		} else if word == "" && r.Arm == b.baseline(keyOf(r)) {
			word = "the baseline"
		}
		in := percentileCells(r.Latency)
		t.add("", r.Cell().String(), r.Arm, interval(r.Goodput), in[0], in[2], maybe(r.RequestsPerIntent),
			percent(r.GiveUpShare), count(r.LostUpdates), interval(r.APIServerCPU), either(word))
	}
	return t
}
