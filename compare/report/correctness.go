package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"coapply.dev/compare/results"
)

// maxViolations is how many of them are shown; the trials have more.
const maxViolations = 40

// tally is what the oracle found of an arm, summed over trials that count.
type tally struct {
	Trials, Acknowledged, Found, Lost, Resurrected, Stolen, Phantom, LostIncrements, GivenUp int

	Where []string // workloads in which something was wrong
}

func (t *tally) add(trial results.Trial) {
	t.count(trial)
	var alone tally
	alone.count(trial)
	if alone.wrong() && !slices.Contains(t.Where, trial.Workload) {
		t.Where = append(t.Where, trial.Workload)
	}
}

func (t *tally) count(trial results.Trial) {
	t.Trials++
	t.Acknowledged += trial.Oracle.Acknowledged
	t.Found += trial.Oracle.Found
	t.Lost += trial.Oracle.Lost
	t.Resurrected += trial.Oracle.Resurrected
	t.Stolen += trial.Oracle.Stolen
	t.Phantom += trial.Oracle.Phantom
	t.LostIncrements += trial.Oracle.LostIncrements
	t.GivenUp += trial.All.GiveUps()
}

// wrong is what must not be: values that are gone, or that nobody wrote. A stolen value was taken on purpose.
func (t *tally) wrong() bool {
	return t.Acknowledged != t.Found || t.Lost+t.Resurrected+t.Phantom+t.LostIncrements > 0
}

func (t *tally) cells() []string {
	var cells []string
	for _, n := range []int{t.Trials, t.Acknowledged, t.Found, t.Lost, t.LostIncrements, t.Resurrected, t.Stolen, t.Phantom, t.GivenUp} {
		cells = append(cells, count(n))
	}
	return cells
}

var tallied = []string{"#trials", "#acknowledged", "#found", "#lost", "#increments lost", "#resurrected", "#stolen", "#phantom", "#given up"}

// correctness is by arm over all workloads; correctnessByWorkload tells them apart.
func (b *builder) correctness() table {
	t := table{Columns: columns(slices.Concat([]string{"arm"}, tallied, []string{"!verdict"})...)}
	names, by := b.tallies(func(t results.Trial) string { return t.Arm })
	for _, name := range names {
		sum := by[name]
		class := class(sum)
		if b.isControl(name) { // what it loses it must lose
			class = map[bool]string{true: "soft", false: "bad"}[sum.wrong()]
		}
		t.addArm(b.palette.of(name), class, append(append([]string{name}, sum.cells()...), b.said(name, sum))...)
	}
	t.Note = "Acknowledged, found and given up are intents; what is lost, resurrected or stolen are values. One write can undo " +
		"several values, so that there may be more of them than writes. An acknowledged intent that was not found is a lost update too."
	return t
}

func (b *builder) said(arm string, sum *tally) string {
	control := b.isControl(arm)
	switch {
	case control && sum.wrong():
		return "control: caught, as it must be"
	case control:
		return "control: not caught"
	case sum.wrong():
		slices.Sort(sum.Where)
		return "lost updates in " + strings.Join(sum.Where, ", ")
	case sum.Acknowledged == 0:
		return "nothing to judge"
	}
	return "nothing lost"
}

func class(sum *tally) string {
	if sum.wrong() {
		return "bad"
	}
	return ""
}

func (b *builder) isControl(arm string) bool {
	return slices.ContainsFunc(b.run.Arms, func(a results.ArmInfo) bool { return a.Name == arm && a.Control }) ||
		slices.ContainsFunc(b.results.Cells, func(r results.Result) bool { return r.Arm == arm && r.Control })
}

func (b *builder) correctnessByWorkload() table {
	t := table{Columns: columns(slices.Concat([]string{"workload and arm"}, tallied)...)}
	names, by := b.tallies(func(t results.Trial) string { return t.Workload + ", " + t.Arm })
	slices.Sort(names)
	for _, name := range names {
		t.add(class(by[name]), append([]string{name}, by[name].cells()...)...)
	}
	return t
}

// tallies sums trials that count by name, with the names in the order of the run's arms, then as they come.
func (b *builder) tallies(name func(results.Trial) string) ([]string, map[string]*tally) {
	by := map[string]*tally{}
	var names []string
	trials := slices.Clone(b.trials)
	slices.SortStableFunc(trials, func(x, y results.Trial) int {
		return cmp.Compare(b.listed(x.Arm), b.listed(y.Arm))
	})
	for _, t := range trials {
		if t.Void != "" {
			continue
		}
		key := name(t)
		if by[key] == nil {
			by[key] = &tally{}
			names = append(names, key)
		}
		by[key].add(t)
	}
	return names, by
}

// violations are the first of each kind of an arm in a workload, those of ordinary arms before those of controls.
func (b *builder) violations() table {
	t := table{Columns: columns("trial", "kind", "object", "field", "#revision", "value of writer", "revision by writer", "before", "after")}
	seen := map[string]bool{}
	for _, controls := range []bool{false, true} {
		for _, trial := range b.trials {
			if trial.Void != "" || b.isControl(trial.Arm) != controls {
				continue
			}
			for _, v := range trial.Oracle.Violations {
				key := trial.Workload + " " + trial.Arm + " " + v.Kind
				if seen[key] || len(t.Rows) == maxViolations {
					continue
				}
				seen[key] = true
				t.add("", trial.ID, v.Kind, v.Object, v.Field, strconv.FormatUint(v.Revision, 10), writer(v.Writer), writer(v.By), value(v.Before), value(v.After))
			}
		}
	}
	if len(t.Rows) > 0 {
		t.Note = "One for each arm and kind in a workload; the others are in trials.jsonl."
	}
	return t
}

// listed is the place of an arm among those of the run.
func (b *builder) listed(arm string) int {
	return slices.IndexFunc(b.run.Arms, func(a results.ArmInfo) bool { return a.Name == arm })
}

func writer(n int) string {
	if n < 0 {
		return "not known"
	}
	return strconv.Itoa(n)
}

func value(text string) string {
	if text == "" {
		return "absent"
	}
	return text
}

// voidTrials are those that count for nothing, with the reason: they are shown, never dropped in silence.
func (b *builder) voidTrials() table {
	t := table{Columns: columns("trial", "arm", "~why it counts for nothing")}
	for _, trial := range b.trials {
		if trial.Void != "" {
			t.add("soft", trial.ID, trial.Arm, trial.Void)
		}
	}
	return t
}
