package apply

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/test/kit"
)

// What landed without an answer is met by whoever repeats the write: an apply
// changes nothing, an update is a stale write.
func TestAnswerLostLands(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	faulty := applytest.Inject(t, c,
		applytest.Fault{Call: applytest.Call{Verb: applytest.VerbApply}, Answer: applytest.AnswerLost()},
		applytest.Fault{Call: applytest.Call{Verb: applytest.VerbUpdate}, Answer: applytest.AnswerLost()},
		applytest.Fault{Call: applytest.Call{Verb: applytest.VerbUpdate, Subresource: "status"}, Answer: applytest.AnswerLost()})

	intent := apply.Intent{Config: kit.Deployment("a", namespace, "v1")}
	err := faulty.Apply(t.Context(), intent.Config, client.FieldOwner("owner"))
	if !errors.Is(apply.Classify(t.Context(), apply.ObjectRef{}, err), apply.ErrRetryable) {
		t.Fatalf("%v, want %v", err, apply.ErrRetryable)
	}
	landed := liveDeploymentA(t, c, namespace)
	outcome, err := kit.NewApplier(t, faulty, "owner", apply.Policy{}).Apply(t.Context(), intent)
	if err != nil || outcome.Object.ResourceVersion != landed.ResourceVersion {
		t.Errorf("%v: repeated, at resourceVersion %s after %s", err, outcome.Object.ResourceVersion, landed.ResourceVersion)
	}

	for _, write := range []struct {
		name   string
		update func(*appsv1.Deployment) error
	}{ // in the order of the faults: one without a subresource holds for all
		{"object", func(d *appsv1.Deployment) error {
			d.Labels = map[string]string{"a": "b"}
			return faulty.Update(t.Context(), d)
		}},
		{"status", func(d *appsv1.Deployment) error {
			d.Status.ObservedGeneration = 7
			return faulty.Status().Update(t.Context(), d)
		}},
	} {
		name, update := write.name, write.update
		mine := liveDeploymentA(t, c, namespace)
		before := mine.ResourceVersion
		if err := update(mine); !errors.Is(apply.Classify(t.Context(), apply.ObjectRef{}, err), apply.ErrRetryable) {
			t.Errorf("%s: %v, want %v", name, err, apply.ErrRetryable)
		}
		if mine.ResourceVersion != before || liveDeploymentA(t, c, namespace).ResourceVersion == before {
			t.Errorf("%s: the lost answer was seen, or there was none", name)
		}
		if err := update(mine); !apply.IsStaleWrite(err) {
			t.Errorf("%s: %v, want a stale write", name, err)
		}
	}
}

func liveDeploymentA(t *testing.T, c client.Client, namespace string) *appsv1.Deployment {
	t.Helper()
	live := &appsv1.Deployment{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "a"}, live); err != nil {
		t.Fatal(err)
	}
	return live
}
