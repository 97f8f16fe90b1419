package arms

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

var set = types.NamespacedName{Namespace: "default", Name: "set"}

func podsOf(uids ...types.UID) []unstructured.Unstructured {
	var pods []unstructured.Unstructured
	for _, uid := range uids {
		pod := unstructured.Unstructured{Object: map[string]any{}}
		pod.SetUID(uid)
		pods = append(pods, pod)
	}
	return pods
}

func TestExpectationsWaitForTheCache(t *testing.T) {
	var e expectations
	if !e.begin(set, e.turn(set), podsOf("old")) {
		t.Fatal("nothing is expected of a new set")
	}
	if e.begin(set, e.turn(set), podsOf("old")) {
		t.Error("two act at once")
	}
	e.created(set, "new")
	e.deleted(set, "old")
	e.end(set)
	for _, step := range []struct {
		reason string
		shown  []unstructured.Unstructured
		want   bool
	}{
		{"nothing of it", podsOf("old"), false},
		{"the creation only", podsOf("old", "new"), false},
		{"the deletion only", podsOf(), false},
		{"all", podsOf("new", "foreign"), true},
	} {
		if got := e.begin(set, e.turn(set), step.shown); got != step.want {
			t.Errorf("the cache shows %s: may act is %v, want %v", step.reason, got, step.want)
		}
	}
}

func TestExpectationsRefuseAReadFromBefore(t *testing.T) {
	var e expectations
	early := e.turn(set)
	if !e.begin(set, e.turn(set), podsOf()) {
		t.Fatal("nothing is expected of a new set")
	}
	e.end(set) // it did nothing that would have to be seen
	if e.begin(set, early, podsOf()) {
		t.Error("who read before another acted may act as well")
	}
}

func TestExpectationsAreKeptBySet(t *testing.T) {
	var e expectations
	other := types.NamespacedName{Namespace: "default", Name: "other"}
	if !e.begin(set, e.turn(set), podsOf()) || !e.begin(other, e.turn(other), podsOf()) {
		t.Error("one set waits for another")
	}
}

func TestExpectationsDoNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e expectations
		e.begin(set, e.turn(set), podsOf())
		e.created(set, "lost")
		e.end(set)
		time.Sleep(patience - time.Second)
		if e.begin(set, e.turn(set), podsOf()) {
			t.Error("it acts before its patience is at its end")
		}
		time.Sleep(time.Second)
		if !e.begin(set, e.turn(set), podsOf()) {
			t.Error("it waits for what will not come")
		}
	})
}
