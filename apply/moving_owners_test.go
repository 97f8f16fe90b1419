package apply_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
)

// What an intent gives way in, it gives way in to this object and these owners.
// Here both change between the requests of one apply.

// ofOthers is an object of which others own nothing that we want.
func ofOthers(uid, resourceVersion string) *appsv1.Deployment {
	d := web(uid, resourceVersion)
	d.ManagedFields = d.ManagedFields[1:]
	d.Spec = appsv1.DeploymentSpec{Paused: true}
	return d
}

func lastBody(s *script) string { return s.bodies[len(s.bodies)-1] }

func TestOwnersThatWent(t *testing.T) {
	for name, steps := range map[string][]step{
		"recreated after it was read": {
			{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))},
			{"PATCH uid=uid-1", otherUID()}, {"GET", ok(ofOthers("uid-2", "1"))},
			{"PATCH", ok(ofOthers("uid-2", "2"))},
		},
		"recreated before it was read": {
			{"PATCH", conflict(hpaReplicas)}, {"GET", ok(ofOthers("uid-2", "1"))}, {"PATCH", ok(ofOthers("uid-2", "2"))},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(t, steps)
			outcome, err := s.applier(relinquish, nil).Apply(t.Context(), apply.Intent{Config: threeReplicas()})
			if err != nil || len(outcome.Conflicts) > 0 || !strings.Contains(lastBody(s), "replicas") {
				t.Errorf("%s: %v, %v; sent %s", name, err, texts(outcome.Conflicts), lastBody(s))
			}
		})
	}
}

// The owner that we gave way to has gone, and the new one is to be rejected:
// nothing of the intent may land, the forced field least of all.
func TestOwnerThatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := apply.OnConflict(apply.Reject).
			When(apply.Match{Manager: "hpa"}, apply.Relinquish).At(".spec.paused", apply.Force)
		vpa := cause(".spec.replicas", `"vpa" with subresource "scale" using apps/v1`)
		s := newScript(t, []step{
			{"PATCH", conflict(hpaReplicas, kubectlPause)}, {"GET", ok(web("uid-1", "7"))},
			{"PATCH uid=uid-1", conflict(kubectlPause)}, {"PATCH uid=uid-1 resourceVersion=7 force", stale()},
			{"GET", ok(ownedBy("vpa", web("uid-1", "8")))},
			{"PATCH", conflict(vpa, kubectlPause)},
		})
		_, err := s.applier(policy, nil).Apply(t.Context(), apply.Intent{Config: replicasAndPause()})
		if !errors.Is(err, apply.ErrConflict) {
			t.Errorf("%v, want a ConflictError", err)
		}
	})
}

// sideCar is a deployment with a container of which kubectl and we own fields.
func sideCar(resourceVersion, kubectl, ours string) *appsv1.Deployment {
	const path = `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"side\"}":`
	d := web("uid-1", resourceVersion)
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "side", Image: "theirs"}}
	d.ManagedFields = append(d.ManagedFields[:1],
		entry("kubectl", "Apply", "", path+kubectl+`}}}}}`), entry(manager, "Apply", "", path+ours+`}}}}}`))
	return d
}

func sideIntent(more bool) apply.Intent {
	container := corev1ac.Container().WithName("side").WithImage("ours")
	if more {
		container.WithTTY(true)
	}
	return apply.Intent{Config: appsv1ac.Deployment("web", "shop").WithSpec(appsv1ac.DeploymentSpec().
		WithTemplate(corev1ac.PodTemplateSpec().WithSpec(corev1ac.PodSpec().WithContainers(container))))}
}

var sideImage = cause(`.spec.template.spec.containers[name="side"].image`, `"kubectl"`)

const (
	wholeItem = `{".":{},"f:name":{},"f:image":{}}`
	itemOfOur = `{".":{},"f:name":{},"f:tty":{}}`
)

// A list item is given up to another owner only as long as there is one, which
// takes a pin to the resourceVersion that says so.
func TestItemGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, []step{
			{"PATCH", conflict(sideImage)}, {"GET", ok(sideCar("7", wholeItem, itemOfOur))},
			{"PATCH uid=uid-1 resourceVersion=7", stale()}, {"GET", ok(sideCar("8", `{"f:image":{}}`, itemOfOur))},
			{"PATCH uid=uid-1", ok(sideCar("9", `{"f:image":{}}`, `{".":{},"f:name":{}}`))},
		})
		if _, err := s.applier(relinquish, nil).Apply(t.Context(), sideIntent(false)); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(lastBody(s), "side") {
			t.Errorf("the item that nobody else owns by then was given up: %s", lastBody(s))
		}
	})
}

// TestItemGivenUpLater: an item that we alone owned is kept. Once others own it too, it is given up.
func TestItemGivenUpLater(t *testing.T) {
	const image, emptyItem = `{"f:image":{}}`, `{".":{},"f:name":{}}`
	s := newScript(t, []step{
		{"PATCH", conflict(sideImage)}, {"GET", ok(sideCar("7", image, emptyItem))},
		{"PATCH uid=uid-1", ok(sideCar("8", image, emptyItem))},
		{"GET", ok(sideCar("9", wholeItem, emptyItem))},
		{"PATCH uid=uid-1 resourceVersion=9", ok(sideCar("10", wholeItem, "{}"))},
	})
	applier := s.applier(relinquish, nil)
	for _, kept := range []bool{true, false} {
		if _, err := applier.Apply(t.Context(), sideIntent(false)); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(lastBody(s), "side") != kept {
			t.Errorf("the item is sent: %v, want %v: %s", !kept, kept, lastBody(s))
		}
	}
}

// Who joins the owners is news.
func TestOwnerThatJoins(t *testing.T) {
	s := newScript(t, []step{
		{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))},
		{"PATCH uid=uid-1", ok(web("uid-1", "8"))},
		{"GET", ok(coOwned("vpa", web("uid-1", "9")))}, {"PATCH uid=uid-1", ok(coOwned("vpa", web("uid-1", "9")))},
	})
	applier := s.applier(share, nil)
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
	}
}
