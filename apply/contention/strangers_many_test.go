package contention

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// unsent shows a write to an object under a name of ours, of a field or of a value alone.
func (w *world) unsent(object types.UID, manager, field string) (looked int) {
	w.object.UID, w.object.Name = object, string(object)
	writer := fieldowners.Manager{Name: manager, Operation: byApply}
	change := Change{Version: fmt.Sprint(object, w.clock.UnixNano()), Stamped: true, Writers: []fieldowners.Manager{writer}}
	if field != "" {
		change.Fields.Gained = []fieldowners.Owned{{Path: fieldowners.MustParsePath(field), Manager: writer}}
	}
	return len(w.Observe(w.object, change))
}

// TestStrangersOfAParent has two strangers, of whom one writes to two objects of a parent, beside a fight.
func TestStrangersOfAParent(t *testing.T) {
	for _, fightFirst := range []bool{true, false} {
		w := newWorld(t, box)
		if fightFirst {
			w.fights("hpa/Update", bot)
		}
		for range 3 {
			w.unsent("web", "coapply-power", ".spec.replicas")
			w.unsent("web", "coapply-other", "")
			w.unsent("db", "coapply-power", ".spec.paused")
			w.unsent("db", "coapply-power", ".spec.image")
		}
		w.clock = w.clock.Add(answerTime)
		w.Take(box)
		if !fightFirst {
			w.object.UID, w.object.Name = "web", "web"
			w.fights(power, bot)
		}
		troubles, _, next := w.Take(box)
		if next != lookAgain {
			t.Errorf("again in %v", next)
		}
		const not = " were not sent by this process: another process runs with this field manager, or somebody uses its name"
		var says []string
		for _, trouble := range troubles[1:] {
			says = append(says, trouble.String())
		}
		if want := []string{
			"3 writes in a minute to Deployment shop/web under the name coapply-other, of values alone," + not,
			"3 writes in a minute to Deployment shop/web under the name coapply-power, of .spec.replicas," + not,
			"6 writes in a minute to Deployment shop/db under the name coapply-power, of .spec.image, .spec.paused," + not,
		}; troubles[0].Reason != ReasonFight || !slices.Equal(says, want) {
			t.Errorf("%v, %v, want a fight and %v", troubles[0], says, want)
		}
		w.object.UID = "web"
		if subjects := w.Forget(w.object); !slices.Equal(subjects, []apply.ObjectRef{box}) {
			t.Errorf("to be looked at: %v", subjects)
		}
		if troubles, _, _ := w.Take(box); len(troubles) != 1 || troubles[0].Object.UID != "db" {
			t.Errorf("what is left: %v", troubles)
		}
	}
}

// TestFewUnsent has two writes a minute to each of two objects: their answers may have been lost.
func TestFewUnsent(t *testing.T) {
	w := newWorld(t, box)
	for i := range 20 {
		if looked := w.unsent([]types.UID{"web", "db"}[i%2], "coapply-power", ""); looked != 0 {
			t.Fatalf("told after %d writes", i+1)
		}
		w.clock = w.clock.Add(window / 4)
	}
	w.clock = w.clock.Add(window)
	for range 3 {
		w.unsent("web", "coapply-power", "")
	}
	w.clock = w.clock.Add(window)
	if troubles, _, _ := w.Take(box); troubles != nil {
		t.Errorf("told a minute later: %v", troubles)
	}
}

func TestUnsentSays(t *testing.T) {
	for want, fields := range map[string][]string{
		"of values alone":       nil,
		"of .a":                 {".a"},
		"of .a, .b, .c":         {".a", ".b", ".c"},
		"of .a, .b, .c, 2 more": {".a", ".b", ".c", ".d", ".e"},
	} {
		u := Unsent{Manager: "shop", Object: box, Writes: 3}
		for _, field := range fields {
			u.Fields = append(u.Fields, fieldowners.MustParsePath(field))
		}
		want = "3 writes in a minute to Devbox shop/box under the name shop, " + want +
			", were not sent by this process: another process runs with this field manager, or somebody uses its name"
		if got := u.String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
