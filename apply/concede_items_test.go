package apply_test

import (
	"encoding/json"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
)

// An item of a list that is not there is left out, not sent as nothing.
func TestItemThatIsNotThere(t *testing.T) {
	live := web("uid-1", "7")
	live.ManagedFields[1] = entry("kubectl", "Apply", "", `{"f:metadata":{"f:finalizers":{"v:\"example.com/a\"":{}}}}`)
	s := newScript(t, []step{
		{"PATCH", conflict(cause(`.metadata.finalizers[="example.com/a"]`, `"kubectl"`))}, {"GET", ok(live)}, {"PATCH uid=uid-1", ok(live)},
	})
	config := appsv1ac.Deployment("web", "shop").WithFinalizers("example.com/a")
	if _, err := s.applier(relinquish, nil).Apply(t.Context(), apply.Intent{Config: config}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(s.bodies[1], "finalizers") {
		t.Errorf("sent %s", s.bodies[1])
	}
}

// A list item that only we own stays when its fields give way: the server would
// remove it with all that others own in it.
func TestItemsOfOursStay(t *testing.T) {
	const item = `k:{\"name\":\"web\"}`
	const path = `"f:spec":{"f:template":{"f:spec":{"f:containers":{"` + item + `":`
	image := cause(`.spec.template.spec.containers[name="web"].image`, `"kubectl" using apps/v1`)
	live := func(theirs, ours string) *appsv1.Deployment {
		d := web("uid-1", "7")
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "theirs"}}
		d.ManagedFields = append(d.ManagedFields,
			entry("kubectl", "Update", "", `{`+path+theirs+`}}}}}`),
			entry(manager, "Apply", "", `{`+path+ours+`}}}}}`))
		return d
	}
	for reason, test := range map[string]struct{ theirs, ours, sent, pin string }{
		"nobody else owns the item": {`{"f:image":{}}`, `{".":{},"f:name":{},"f:image":{}}`, `{"template":{"spec":{"containers":[{"name":"web"}]}}}`, " resourceVersion=7"}, // we own the image, too
		"we do not own it":          {`{"f:image":{}}`, `{"f:name":{}}`, `null`, ""},
		"only another one owns it":  {`{".":{},"f:image":{}}`, `{"f:name":{}}`, `null`, ""},
	} {
		s := newScript(t, []step{
			{"PATCH", conflict(image)}, {"GET", ok(live(test.theirs, test.ours))}, {"PATCH uid=uid-1" + test.pin, ok(live(test.theirs, test.ours))},
			{"GET", ok(live(test.theirs, test.ours))}, {"PATCH uid=uid-1" + test.pin, ok(live(test.theirs, test.ours))},
		})
		applier := s.applier(relinquish, nil)
		config := appsv1ac.Deployment("web", "shop").WithSpec(appsv1ac.DeploymentSpec().
			WithTemplate(corev1ac.PodTemplateSpec().WithSpec(corev1ac.PodSpec().
				WithContainers(corev1ac.Container().WithName("web").WithImage("ours")))))
		for range 2 {
			if _, err := applier.Apply(t.Context(), apply.Intent{Config: config}); err != nil {
				t.Fatal(err)
			}
		}
		if s.bodies[2] != s.bodies[1] {
			t.Errorf("%s: sent %s, and then %s", reason, s.bodies[1], s.bodies[2])
		}
		var sent struct{ Spec any }
		if err := json.Unmarshal([]byte(s.bodies[1]), &sent); err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(sent.Spec)
		if err != nil || string(raw) != test.sent {
			t.Errorf("%s: sent %s, want %s", reason, raw, test.sent)
		}
	}
}

// TestItemOfOursStaysBesideOwnersWhoAreNotShown: the object shows that the item is ours alone,
// though not who refused.
func TestItemOfOursStaysBesideOwnersWhoAreNotShown(t *testing.T) {
	live := sideCar("7", `{"f:tty":{}}`, itemOfOur)
	s := newScript(t, []step{{"PATCH", conflict(sideImage)}, {"GET", ok(live)}, {"PATCH", conflict(sideImage)}, {"PATCH uid=uid-1", ok(live)}})
	if _, err := s.applier(relinquish, nil).Apply(t.Context(), sideIntent(false)); err != nil || !strings.Contains(lastBody(s), "side") {
		t.Errorf("sent %s, %v", lastBody(s), err)
	}
}
