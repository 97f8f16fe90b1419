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

func (s take) difference() fieldowners.Difference {
	from, to, _ := strings.Cut(s.step, ">")
	return fieldowners.Diff(heldBy(from), heldBy(to))
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

// told returns a line for each fight that was told of.
func told(f *fights.Detector, takes []take) []string {
	var lines []string
	for _, s := range takes {
		for _, fight := range f.Observe("web", s.difference(), s.at()) {
			lines = append(lines, fmt.Sprintf("%v: %s, %s %d since %v", s.second, fight.A, fight.B, fight.Times, fight.Since.Sub(fightStart)))
		}
	}
	return lines
}

func TestDetector(t *testing.T) {
	for _, test := range []struct {
		reason string
		takes  []take
		want   []string // more than 3 moves a minute
	}{
		{"as many as are allowed", rally(3, 1, "a>b", "b>a"), nil},
		{"one more", rally(4, 1, "a>b", "b>a"), []string{"3: a/Apply, b/Apply 4 since 0s"}},
		{"slow enough: never more than 3 in a minute", rally(50, 20, "a>b", "b>a"), nil},
		{"a bit faster: the fourth move is within the minute", rally(4, 19.5, "a>b", "b>a"),
			[]string{"58.5: a/Apply, b/Apply 4 since 0s"}},
		{"told again after a minute", rally(9, 10, "a>b", "b>a"), []string{"30: a/Apply, b/Apply 4 since 0s"}},
		{"told again after a minute, with the times of the last one", rally(10, 10, "a>b", "b>a"),
			[]string{"30: a/Apply, b/Apply 4 since 0s", "90: a/Apply, b/Apply 6 since 0s"}},
		{"one direction is no fight", rally(9, 1, "a>b"), nil},
		{"nor is the other one", rally(9, 1, "b>a"), nil},
		{"an applier and a scale", rally(4, 1, "a>kubectl[scale]", "kubectl[scale]>a"),
			[]string{"3: a/Apply, kubectl/Update[scale] 4 since 0s"}},
		{"one name, two operations", rally(4, 1, "a>a/u", "a/u>a"), []string{"3: a/Apply, a/Update 4 since 0s"}},
		{"three in turn fight each with each", rally(8, 1, "a>b", "b>c", "c>a"),
			[]string{"5: a/Apply, b/Apply 4 since 0s", "6: b/Apply, c/Apply 4 since 1s", "7: a/Apply, c/Apply 4 since 2s"}},
		{"a handover down a line is no fight", []take{{0, "a>b"}, {1, "b>c"}, {2, "c>d"}, {3, "d>e"}, {4, "e>f"}, {5, "f>g"}}, nil},
		{"two that share a field and lose it to a third do not fight with each other", rally(8, 1, "a,b>c", "c>a", "a,b>c", "c>b"),
			[]string{"4: a/Apply, c/Apply 4 since 0s", "4: b/Apply, c/Apply 4 since 0s"}},
		{"ended and begun again within a minute: told once", append(rally(4, 1, "a>b", "b>a"), take{62, "a>b"}, take{62, "b>a"}, take{62, "a>b"}, take{62, "b>a"}),
			[]string{"3: a/Apply, b/Apply 4 since 0s"}},
		{"ended and begun again later: told again", append(rally(4, 1, "a>b", "b>a"), take{70, "a>b"}, take{71, "b>a"}, take{72, "a>b"}, take{73, "b>a"}),
			[]string{"3: a/Apply, b/Apply 4 since 0s", "73: a/Apply, b/Apply 4 since 1m10s"}},
		{"times that go back a little count as the last", []take{{9, "a>b"}, {8, "b>a"}, {7, "a>b"}, {6, "b>a"}},
			[]string{"6: a/Apply, b/Apply 4 since 9s"}},
		{"or as the last also where they would be too old later", []take{{70, "a>b"}, {12, "b>a"}, {73, "a>b"}, {74, "b>a"}},
			[]string{"74: a/Apply, b/Apply 4 since 1m10s"}},
		{"a forged time spoils nothing", append([]take{{1e9, "a>b"}, {1e9, "b>a"}, {1e9, "a>b"}}, rally(4, 20, "a>b", "b>a")...), nil},
	} {
		f, err := fights.New(3)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, told(f, test.takes)); diff != "" {
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

func TestEnd(t *testing.T) {
	f, err := fights.New(3)
	if err != nil {
		t.Fatal(err)
	}
	told(f, rally(5, 10, "a>b", "b>a"))
	for _, test := range []struct {
		second float64
		want   int
	}{{40, 5}, {59, 5}, {60, 4}, {69, 4}, {70, 0}, {3600, 0}} {
		active := f.Active(take{second: test.second}.at())
		got := 0
		for _, fight := range active {
			got = fight.Times
			if want := "a/Apply and b/Apply took it from each other"; !strings.Contains(fight.String(), want) {
				t.Errorf("%v does not say %q", fight, want)
			}
		}
		if got != test.want {
			t.Errorf("after %v s: %d moves, want %d", test.second, got, test.want)
		}
	}
	f.Forget("other")
	if len(f.Active(fightStart)) != 1 {
		t.Error("the fight was forgotten with another object")
	}
	f.Forget("web")
	if active := f.Active(fightStart); len(active) > 0 {
		t.Errorf("forgotten, and still there: %v", active)
	}
	if lines := told(f, []take{{95, "a>b"}, {95, "b>a"}, {95, "a>b"}}); lines != nil {
		t.Errorf("forgotten, and not counted anew: %v", lines)
	}
}

// TestAreBounded moves more fields, by more managers, than are remembered.
func TestAreBounded(t *testing.T) {
	f, err := fights.New(1)
	if err != nil {
		t.Fatal(err)
	}
	now := fightStart
	there, back := take{step: "a>b"}.difference(), take{step: "b>a"}.difference()
	for i := range 15_000 {
		for _, object := range []string{fmt.Sprint(i), "all the time"} {
			f.Observe(object, there, now)
			f.Observe(object, back, now)
		}
	}
	active := f.Active(now)
	if last := active[len(active)-1]; len(active) != 10_000 || last.Object != "all the time" || last.Times != 30_000 {
		t.Errorf("%d fights are remembered, the last is %v; want those of the 10,000 fields that moved last", len(active), last)
	}
	for i := range 300 {
		a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
		told(f, []take{{0, a + ">" + b}, {0, b + ">" + a}})
	}
	if n := len(f.Active(now)); n > 10_000+16*16 {
		t.Errorf("%d fights are remembered: one field has more than 16 managers'", n)
	}
}

func TestZeroDetector(t *testing.T) {
	var f fights.Detector
	moved := fieldowners.Difference{Moved: []fieldowners.Moved{{}}}
	f.Forget("x")
	before, after := heldBy("a"), heldBy("b")
	if now := time.Unix(0, 0); len(f.Observe("x", moved, now))+len(f.ObserveWrite("x", before, after, now))+len(f.Active(now)) > 0 {
		t.Error("fights that nobody made notice something")
	}
}

func entry(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, APIVersion: "apps/v1",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}
