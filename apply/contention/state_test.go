package contention

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// world shows a State what managers do to one object.
type world struct {
	*State

	t      *testing.T
	clock  time.Time
	object Object
	owners map[string]string // who has which field
}

var box = apply.ObjectRef{
	GroupVersionKind: schema.GroupVersionKind{Group: "platform.coapply.dev", Version: "v1alpha1", Kind: "Devbox"},
	NamespacedName:   types.NamespacedName{Namespace: "shop", Name: "box"}, UID: "box",
}

func newWorld(t *testing.T, parent apply.ObjectRef) *world {
	t.Helper()
	w := &world{t: t, clock: time.Unix(1000, 0), owners: map[string]string{}}
	w.object = Object{Parent: parent, ObjectRef: apply.ObjectRef{
		GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		NamespacedName:   types.NamespacedName{Namespace: "shop", Name: "web"}, UID: "web",
	}}
	var err error
	if w.State, err = New(Config{
		Ours: func(name string) bool { return strings.HasPrefix(name, "coapply-") },
		now:  func() time.Time { return w.clock }, jitter: sameJitter,
	}); err != nil {
		t.Fatal(err)
	}
	for _, manager := range []string{"coapply-power", "coapply-other", "coapply-ping", "coapply-pong"} {
		w.Guard(manager, apply.OnConflict(apply.Force))
		w.Sent(manager, nil)
	}
	w.Lead()
	return w
}

func (w *world) managed() entries {
	fields := map[string][]string{}
	for field, owner := range w.owners {
		fields[owner] = append(fields[owner], fmt.Sprintf("%q:{}", "f:"+field))
	}
	var all entries
	for owner, owned := range fields {
		slices.Sort(owned)
		name, rest, _ := strings.Cut(owner, "/")
		operation, subresource, _ := strings.Cut(rest, "/")
		all = append(all, entry(name, metav1.ManagedFieldsOperationType(operation), subresource, 1, `{"f:spec":{`+strings.Join(owned, ",")+`}}`))
	}
	return all
}

// take has a manager, name/operation/subresource, take a field, seconds later.
func (w *world) take(seconds int, manager, field string) []apply.ObjectRef {
	w.t.Helper()
	w.clock = w.clock.Add(time.Duration(seconds) * time.Second)
	before := w.managed()
	w.owners[field] = manager
	change, err := Between(before, w.managed())
	if err != nil {
		w.t.Fatal(err)
	}
	return w.Observe(w.object, change)
}

// fights has two take replicas from each other, two seconds apart, until it is noticed.
func (w *world) fights(a, b string) []apply.ObjectRef {
	for i := range 8 {
		if subjects := w.take(2, []string{a, b}[i%2], "replicas"); subjects != nil {
			return subjects
		}
	}
	w.t.Helper()
	w.t.Fatal("nobody noticed")
	return nil
}

func (w *world) forces(manager, path string) bool {
	c := apply.Conflict{Object: w.object.ObjectRef, Path: fieldowners.MustParsePath(path)}
	return w.refuses(manager, c) == nil
}

const (
	power = "coapply-power/Apply"
	bot   = "bot/Update/scale"
)

func TestFightFromBeginToEnd(t *testing.T) {
	w := newWorld(t, box)
	if subjects := w.fights(power, bot); !slices.Equal(subjects, []apply.ObjectRef{box}) {
		t.Fatalf("to be looked at: %v", subjects)
	}
	troubles, news, next := w.Take(box)
	if len(troubles) != 1 || len(news) != 1 || news[0].Again || news[0].Next != time.Minute || next != 3*time.Minute {
		t.Fatalf("%v, %+v, again in %v", troubles, news, next)
	}
	says := ".spec.replicas of Deployment shop/web: bot/Update[scale] and coapply-power/Apply take it from each other; coapply-power does not force it until the other stops"
	if text := troubles[0].String(); text != says {
		t.Errorf("%s", text)
	}
	for reason, c := range map[string]struct {
		manager, path string
		may           bool
	}{
		"the field":                 {"coapply-power", ".spec.replicas", false},
		"one above":                 {"coapply-power", ".spec", false},
		"one below":                 {"coapply-power", ".spec.replicas.x", false},
		"another field":             {"coapply-power", ".spec.paused", true},
		"one that begins alike":     {"coapply-power", ".spec.replicasOfOthers", true},
		"another manager of ours":   {"coapply-network", ".spec.replicas", true},
		"the other, were it to ask": {"bot", ".spec.replicas", true},
	} {
		if w.forces(c.manager, c.path) != c.may {
			t.Errorf("%s: want may force %v", reason, c.may)
		}
	}
	if subjects := w.take(0, bot, "replicas"); subjects != nil {
		t.Error("the other takes what ours had when it stopped, and that is told")
	}
	other := apply.Conflict{Object: box, Path: fieldowners.MustParsePath(".spec.replicas")}
	unknown := apply.Conflict{Object: w.object.ObjectRef, ServerPath: ".spec.replicas"}
	unknownOther := apply.Conflict{Object: w.object.ObjectRef, ServerPath: ".spec.paused"}
	why := w.rows[0].breaker.until.UTC().Format("bot and coapply-power fight over it: not forced before 15:04:05 UTC")
	if err := w.refuses("coapply-power", unknown); err == nil || err.Error() != why {
		t.Errorf("error %v, want %s", err, why)
	}
	if w.refuses("coapply-power", other) != nil || w.refuses("coapply-power", unknownOther) != nil {
		t.Error("another object may be forced, and another field by the server's name")
	}
	if troubles, news, next := w.Take(w.object.ObjectRef); troubles != nil || news != nil || next != 0 {
		t.Errorf("told of the object, which is its parent's: %v, %v, again in %v", troubles, news, next)
	}

	w.clock = w.clock.Add(time.Minute)
	if !w.forces("coapply-power", ".spec.replicas") {
		t.Fatal("not even after the cool-down")
	}
	w.take(0, power, "replicas")
	if subjects := w.take(1, bot, "replicas"); len(subjects) != 1 {
		t.Error("nobody is told that it was taken back")
	}
	again, news, _ := w.Take(box)
	if len(news) != 1 || !news[0].Again || news[0].Next != 2*time.Minute || again[0].String() != says {
		t.Errorf("taken back: %+v, %v", news, again)
	}
	w.clock = w.clock.Add(2 * time.Minute)
	w.take(0, power, "replicas")
	if troubles, news, next = w.Take(box); len(troubles) != 1 || news != nil || next != 2*time.Minute {
		t.Errorf("on trial: %v, %v, again in %v", troubles, news, next)
	}
	w.clock = w.clock.Add(next)
	if troubles, _, next = w.Take(box); troubles != nil || next != 0 || len(w.rows) != 0 {
		t.Errorf("over: %v, again in %v", troubles, next)
	}
	want := `
		# HELP coapply_fights_total Fights of two field managers for a field (OwnershipFight), pairs of ours that answer each other without end (ReconcileLoop), and managers of ours under whose name somebody else writes (UnknownWriter; other is empty), when they began.
		# TYPE coapply_fights_total counter
		coapply_fights_total{kind="Deployment.apps",manager="coapply-power",other="bot",reason="OwnershipFight"} 1
	`
	if err := testutil.CollectAndCompare(w.State, strings.NewReader(want), "coapply_fights_total"); err != nil {
		t.Error(err)
	}
}

// TestForceIsOneThoughTheWatchIsBehind: what the answer of a force says holds, before the watch shows it.
func TestForceIsOneThoughTheWatchIsBehind(t *testing.T) {
	w := newWorld(t, box)
	w.fights(power, bot)
	w.clock = w.clock.Add(time.Minute)
	answers := w.Sent("coapply-power", nil)
	if !w.forces("coapply-power", ".spec.replicas") {
		t.Fatal("not even after the cool-down")
	}
	for reason, o := range map[string]apply.ApplyObservation{
		"another object": {Object: box, Result: string(apply.Configured), Conflicts: map[apply.Decision]int{apply.Force: 1}},
		"nothing forced": {Object: w.object.ObjectRef, Result: string(apply.Configured)},
		"nothing landed": {Object: w.object.ObjectRef, Result: "Conflict", Conflicts: map[apply.Decision]int{apply.Force: 1}},
	} {
		if answers.ObserveApply(o); !w.forces("coapply-power", ".spec.replicas") {
			t.Errorf("the one try was taken by an answer: %s", reason)
		}
	}
	w.Sent("coapply-other", nil).ObserveApply(apply.ApplyObservation{
		Object: w.object.ObjectRef, Result: string(apply.Configured), Conflicts: map[apply.Decision]int{apply.Force: 1},
	})
	forces := 0
	for range 20 { // the other takes it back each time, and the watch shows nothing
		if w.forces("coapply-power", ".spec.replicas") {
			forces++
			answers.ObserveApply(apply.ApplyObservation{
				Object: w.object.ObjectRef, Result: string(apply.Configured), Conflicts: map[apply.Decision]int{apply.Force: 1},
			})
		}
		w.clock = w.clock.Add(time.Second)
	}
	if forces != 1 {
		t.Errorf("ours forced %d times, want once", forces)
	}
}

func TestForget(t *testing.T) {
	w := newWorld(t, box)
	w.fights(power, bot)
	if subjects := w.Forget(Object{ObjectRef: apply.ObjectRef{UID: "other"}}); subjects != nil || len(w.rows) != 1 {
		t.Errorf("another object went: %v", subjects)
	}
	if subjects := w.Forget(w.object); !slices.Equal(subjects, []apply.ObjectRef{box}) || len(w.rows) != 0 {
		t.Errorf("%v is to be looked at, %d troubles are left", subjects, len(w.rows))
	}
	if !w.forces("coapply-power", ".spec.replicas") {
		t.Error("an object of the same name may not be forced")
	}
	if n := len(w.State.fights.Active(w.clock)); n != 0 {
		t.Errorf("%d fights are remembered", n)
	}
}
