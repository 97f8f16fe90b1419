package fights_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/cmd/kubectl-fieldowners/internal/fights"
	"coapply.dev/fieldowners"
)

var fightStart = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)

// take is one step: "a>b" moves .spec.replicas at so many seconds, "a,b>c" from two.
type take struct {
	second float64
	step   string
}

func (s take) at() time.Time {
	return fightStart.Add(time.Duration(s.second * float64(time.Second)))
}

// heldBy gives .spec.replicas to appliers, to "a/u" by Update, to "a[scale]" by
// Update through the scale.
func heldBy(names string) fieldowners.Ownership {
	var entries []metav1.ManagedFieldsEntry
	for name := range strings.SplitSeq(names, ",") {
		e := entry(name, metav1.ManagedFieldsOperationApply, `{"f:spec":{"f:replicas":{}}}`)
		if update, is := strings.CutSuffix(name, "/u"); is {
			e.Manager, e.Operation = update, metav1.ManagedFieldsOperationUpdate
		}
		if scale, is := strings.CutSuffix(name, "[scale]"); is {
			e.Manager, e.Operation, e.Subresource = scale, metav1.ManagedFieldsOperationUpdate, "scale"
		}
		entries = append(entries, e)
	}
	o, err := fieldowners.Parse(entries)
	if err != nil {
		panic(err)
	}
	return o
}

// rally is n takes, one every so many seconds, by the steps in turn.
func rally(n int, every float64, steps ...string) []take {
	var takes []take
	for i := range n {
		takes = append(takes, take{float64(i) * every, steps[i%len(steps)]})
	}
	return takes
}

func newDetector(t *testing.T, perMinute int) *fights.Detector {
	t.Helper()
	f, err := fights.New(perMinute)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// told returns a line for each fight that was told of.
func told(f *fights.Detector, takes []take) []string {
	var lines []string
	for _, s := range takes {
		from, to, _ := strings.Cut(s.step, ">")
		for _, fight := range f.Observe("web", heldBy(from), heldBy(to), s.at()) {
			lines = append(lines, fmt.Sprintf("%v: %s since %v", s.second, fight.Message(), fight.Since.Sub(fightStart)))
		}
	}
	return lines
}

func TestDetector(t *testing.T) {
	ab := func(second string, times int, since string) string {
		return fmt.Sprintf("%s: a/Apply and b/Apply took the field from each other %d times in a minute since %s", second, times, since)
	}
	for _, test := range []struct {
		reason string
		takes  []take
		want   []string // more than 3 moves a minute
	}{
		{"as many as are allowed", rally(3, 1, "a>b", "b>a"), nil},
		{"one more", rally(4, 1, "a>b", "b>a"), []string{ab("3", 4, "0s")}},
		{"slow enough: never more than 3 in a minute", rally(50, 20, "a>b", "b>a"), nil},
		{"a bit faster: the fourth move is within the minute", rally(4, 19.5, "a>b", "b>a"), []string{ab("58.5", 4, "0s")}},
		{"told again after a minute, with the times of the last one", rally(10, 10, "a>b", "b>a"), []string{ab("30", 4, "0s"), ab("90", 6, "0s")}},
		{"one direction is no fight", rally(9, 1, "a>b"), nil},
		{"an applier and a scale", rally(4, 1, "a>kubectl[scale]", "kubectl[scale]>a"),
			[]string{"3: a/Apply and kubectl/Update[scale] took the field from each other 4 times in a minute since 0s"}},
		{"one name, two operations", rally(4, 1, "a>a/u", "a/u>a"), []string{"3: a/Apply and a/Update took the field from each other 4 times in a minute since 0s"}},
		{"three in turn", rally(8, 1, "a>b", "b>c", "c>a"), []string{"3: a/Apply, b/Apply and c/Apply took the field from each other 4 times in a minute since 0s"}},
		{"a handover down a line is no fight", []take{{0, "a>b"}, {1, "b>c"}, {2, "c>d"}, {3, "d>e"}, {4, "e>f"}, {5, "f>g"}}, nil},
		{"ended and begun again later: told again", append(rally(4, 1, "a>b", "b>a"), take{70, "a>b"}, take{71, "b>a"}, take{72, "a>b"}, take{73, "b>a"}),
			[]string{ab("3", 4, "0s"), ab("73", 4, "1m10s")}},
		{"times that go back a little count as the last", []take{{9, "a>b"}, {8, "b>a"}, {7, "a>b"}, {6, "b>a"}}, []string{ab("6", 4, "9s")}},
		{"a forged time spoils nothing", append([]take{{1e9, "a>b"}, {1e9, "b>a"}, {1e9, "a>b"}}, rally(4, 20, "a>b", "b>a")...), nil},
	} {
		if diff := cmp.Diff(test.want, told(newDetector(t, 3), test.takes)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestRefuseNonsense(t *testing.T) {
	for _, n := range []int{0, -1} {
		if f, err := fights.New(n); err == nil || f != nil {
			t.Errorf("%d: %v, %v", n, f, err)
		}
	}
}

// TestActsAreBounded: a thousand acts of a field are counted at most.
func TestActsAreBounded(t *testing.T) {
	lines := told(newDetector(t, 5), rally(5_000, 0.02, "a>b", "b>a"))
	if len(lines) != 2 || !strings.Contains(lines[1], " 1000 times ") {
		t.Errorf("told %q", lines)
	}
}

// TestLoops shows writers in turn, by a letter each.
func TestLoops(t *testing.T) {
	for _, test := range []struct {
		reason string
		writes string
		every  time.Duration
		want   string // the managers of the first loop
	}{
		{"two answer each other", strings.Repeat("ab", 15), time.Second, "ab"},
		{"not often enough yet", strings.Repeat("ab", 10), time.Second, ""},
		{"too slow", strings.Repeat("ab", 100), 4 * time.Second, ""},
		{"each writes a few times in a row", strings.Repeat("aaabb", 15), 500 * time.Millisecond, "ab"},
		{"two in a row each, not often enough", strings.Repeat("aabb", 30), 1600 * time.Millisecond, ""},
		{"three go round: told when two of them wrote often enough", strings.Repeat("abc", 15), time.Second, "bc"},
		{"a third is there by chance", strings.Repeat("ab", 5) + "c" + strings.Repeat("ab", 10), time.Second, "ab"},
		{"one alone, however often", strings.Repeat("a", 1000), time.Millisecond, ""},
		{"one often, another seldom: a status that progresses", strings.Repeat("aaaaaaaaab", 9), 500 * time.Millisecond, ""},
		{"many managers that write a few times each, as at a creation", strings.Repeat("abcdefgh", 9), 100 * time.Millisecond, ""},
	} {
		f, at, got, times := newDetector(t, 5), fightStart, "", 0
		for _, w := range test.writes {
			at = at.Add(test.every)
			loop, is := f.Wrote("web", fieldowners.Manager{Name: string(w), Operation: metav1.ManagedFieldsOperationApply}, at)
			if !is {
				continue
			}
			if times++; times == 1 {
				for _, m := range loop.Managers {
					got += m.Name
				}
			}
		}
		if got != test.want || times > 1 {
			t.Errorf("%s: %q, told %d times, want %q", test.reason, got, times, test.want)
		}
	}
}

// TestNoLoopInAFight: managers that take a field from each other write in turn as well.
func TestNoLoopInAFight(t *testing.T) {
	f := newDetector(t, 5)
	for i := range 100 {
		step := []string{"a>b", "b>a"}[i%2]
		from, to, _ := strings.Cut(step, ">")
		at := fightStart.Add(time.Duration(i) * time.Second)
		f.Observe("web", heldBy(from), heldBy(to), at)
		if loop, is := f.Wrote("web", fieldowners.Manager{Name: to}, at); is {
			t.Fatalf("%+v", loop)
		}
	}
}

func entry(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, APIVersion: "apps/v1",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}
