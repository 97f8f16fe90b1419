package apply_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
)

// What an intent gives way in, it gives way in to this object and these owners.
// Here both change between the requests of one apply.

func TestOwnersThatWent(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(*world)
		sent    []string
	}{
		"recreated after it was read":  {before(3, recreated(kubectl)), []string{whole, read, pinned, read, whole}},
		"recreated before it was read": {before(2, recreated(kubectl)), []string{whole, read, whole}},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			c.happens(w)
			outcome, err := w.applier(relinquish).Apply(t.Context(), apply.Intent{Config: threeReplicas()})
			if err != nil || len(outcome.Conflicts) > 0 || !strings.Contains(w.LastBody(), "replicas") {
				t.Errorf("%s: %v, %v; sent %s", name, err, texts(outcome.Conflicts), w.LastBody())
			}
			w.WantSent(c.sent...)
		})
	}
}

// The owner that we gave way to has gone, and the new one is to be rejected:
// nothing of the intent may land, the forced field least of all.
func TestOwnerThatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := apply.OnConflict(apply.Reject).
			When(apply.Match{Manager: "hpa"}, apply.Relinquish).At(".spec.paused", apply.Force)
		vpa := hpa
		vpa.Manager = "vpa"
		w := newWorld(t)
		before(4, owned(vpa, kubectl))(w)
		_, err := w.applier(policy).Apply(t.Context(), apply.Intent{Config: replicasAndPause()})
		if !errors.Is(err, apply.ErrConflict) {
			t.Errorf("%v, want a ConflictError", err)
		}
		w.WantSent(whole, read, pinned, forces, read, whole)
		if w.Live().Spec.Paused != true {
			t.Error("the pause was forced")
		}
	})
}

const (
	sidePath  = `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"side\"}":`
	wholeItem = `{".":{},"f:name":{},"f:image":{}}`
	itemOfOur = `{".":{},"f:name":{},"f:tty":{}}`
)

// sideOwners has kubectl and us own fields of the second container.
func sideOwners(theirs, ours string) func(*world) {
	return owned(hpa, entry("kubectl", "Apply", "", sidePath+theirs+`}}}}}`), entry(manager, "Apply", "", sidePath+ours+`}}}}}`))
}

// besideSideCar has a Deployment with a second container of which kubectl and we own fields.
func besideSideCar(theirs, ours string) func(*world) {
	return func(w *world) {
		w.Remove()
		w.Make(sideCar())
		sideOwners(theirs, ours)(w)
	}
}

func sideIntent(more bool) apply.Intent {
	container := corev1ac.Container().WithName("side").WithImage("ours")
	if more {
		container.WithTTY(true)
	}
	return apply.Intent{Config: appsv1ac.Deployment("web", "shop").WithSpec(appsv1ac.DeploymentSpec().
		WithTemplate(corev1ac.PodTemplateSpec().WithSpec(corev1ac.PodSpec().WithContainers(container))))}
}

// A list item is given up to another owner only as long as there is one, which
// takes a pin to the resourceVersion that says so.
func TestItemGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		besideSideCar(wholeItem, itemOfOur)(w)
		before(3, sideOwners(`{"f:image":{}}`, itemOfOur))(w)
		if _, err := w.applier(relinquish).Apply(t.Context(), sideIntent(false)); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(w.LastBody(), "side") {
			t.Errorf("the item that nobody else owns by then was given up: %s", w.LastBody())
		}
		w.WantSent(whole, read, atVersion, read, whole, pinned) // without schemas, conflicts in list items are not computed
	})
}

// TestItemGivenUpLater: an item that we alone owned is kept. Once others own it too, it is given up.
func TestItemGivenUpLater(t *testing.T) {
	w := newWorld(t)
	besideSideCar(`{"f:image":{}}`, `{".":{},"f:name":{}}`)(w)
	applier := w.applier(relinquish)
	for _, kept := range []bool{true, false} {
		if _, err := applier.Apply(t.Context(), sideIntent(false)); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(w.LastBody(), "side") != kept {
			t.Errorf("the item is sent: %v, want %v: %s", !kept, kept, w.LastBody())
		}
		sideOwners(wholeItem, `{".":{},"f:name":{}}`)(w)
	}
	w.WantSent(whole, read, pinned, read, whole, atVersion)
}

// Who joins the owners is news.
func TestOwnerThatJoins(t *testing.T) {
	w := newWorld(t)
	applier := w.applier(share)
	for _, want := range []map[string]bool{{"hpa": false}, {"hpa": true, "vpa": false}} {
		outcome, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas()})
		if err != nil || len(outcome.Conflicts) != len(want) {
			t.Fatalf("%v, %v", texts(outcome.Conflicts), err)
		}
		for _, conflict := range outcome.Conflicts {
			if conflict.Remembered != want[conflict.Manager.Name] {
				t.Errorf("%v: Remembered is %v", conflict, conflict.Remembered)
			}
		}
		joins("vpa")(w)
	}
	w.WantSent(whole, read, pinned, read, pinned)
}
