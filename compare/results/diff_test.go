package results

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func measured(arm string, writers int, mean, half float64) Result {
	lo, hi := mean-half, mean+half
	return Result{
		Workload: "hot-object", Arm: arm, Writers: writers, Objects: 1, Managers: 4, Trials: 10,
		Goodput: &Interval{Mean: mean, Lo: &lo, Hi: &hi},
	}
}

func twoRuns() (before, after Results) {
	lossy := measured("merge-patch", 4, 200, 2)
	lossy.LostUpdates = 3
	before = Results{Run: RunInfo{Margin: 0.05, Environment: Environment{CPU: "old", Cores: 2}}, Cells: []Result{
		measured("ssa", 4, 200, 5), measured("gmu", 4, 100, 2), measured("apply", 4, 300, 3), measured("merge-patch", 4, 200, 2),
		measured("ssa", 64, 30, 1), measured("gmu-cached", 4, 10, 4), {Workload: "fight", Arm: "ssa"},
	}}
	after = Results{Run: RunInfo{Margin: 0.05, Environment: Environment{CPU: "new", Cores: 2}}, Cells: []Result{
		measured("ssa", 4, 300, 5), measured("gmu", 4, 80, 2), measured("apply", 4, 302, 3), lossy,
		measured("ssa", 128, 30, 1), measured("gmu-cached", 4, 14, 5), {Workload: "fight", Arm: "ssa"},
	}}
	return before, after
}

func TestDiff(t *testing.T) {
	before, after := twoRuns()
	d := Diff(before, after)
	words := map[string]string{}
	for _, row := range d.Rows {
		words[row.Cell+" "+row.Arm] = row.Word
	}
	for name, want := range map[string]string{
		"hot-object w4 m4 ssa": "faster", "hot-object w4 m4 gmu": "slower", "hot-object w4 m4 apply": "equivalent",
		"hot-object w4 m4 merge-patch": "equivalent", "hot-object w4 m4 gmu-cached": "unstable", "fight w0 m0 ssa": "no verdict",
	} {
		if words[name] != want {
			t.Errorf("%s: %q, want %q", name, words[name], want)
		}
	}
	for _, row := range d.Rows {
		want := row.Arm == "ssa" && row.Before != nil || row.Arm == "gmu" || row.Arm == "merge-patch"
		if row.Changed() != want {
			t.Errorf("%s %s: changed %v", row.Cell, row.Arm, row.Changed())
		}
	}
	if len(d.OnlyBefore) != 1 || len(d.OnlyAfter) != 1 || !strings.Contains(d.OnlyAfter[0], "w128") {
		t.Errorf("only before %v, only after %v", d.OnlyBefore, d.OnlyAfter)
	}
	if len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "other CPU: old before, new after") {
		t.Errorf("%v", d.Warnings)
	}
	if same := Diff(before, before); same.Changed() || len(same.Warnings) > 0 {
		t.Errorf("a run differs from itself: %s", same.Table())
	}
}

func TestDiffTableFits(t *testing.T) {
	before, after := twoRuns()
	before.Void = "put-no-rv lost none of 900 updates, so nothing shows that the oracle sees lost updates"
	before.Cells = append(before.Cells, measured("gmu-default-backoff", 128, 12345.6, 400))
	after.Cells = append(after.Cells, measured("gmu-default-backoff", 128, 12345.6, 400))
	table := Diff(before, after).Table()
	for line := range strings.Lines(table) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > width {
			t.Errorf("wider than %d: %q", width, line)
		}
	}
	for _, want := range []string{"Warning: the run before is void", "0 → 3", "1.50 ", "[1.46, 1.54]", "12346", "Only after: hot-object w128 m4 ssa", "n/a", "No verdict in "} {
		if !strings.Contains(table, want) {
			t.Errorf("%q is missing from\n%s", want, table)
		}
	}
	if empty := Diff(Results{}, Results{}).Table(); !strings.Contains(empty, "no cell and arm in common") {
		t.Error(empty)
	}
}
