package apply

import (
	"errors"
	"testing"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// TestPlanOfABirth: a plan of what is created exclusively is one of a creation, and leaves
// nothing that the apply after it goes by.
func TestPlanOfABirth(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	applier := kit.NewApplier(t, c, kit.OurManager, apply.Policy{})
	intent := apply.Intent{
		Config:  corev1ac.ConfigMap("a", namespace).WithData(map[string]string{"k": "v"}),
		Belongs: func(object client.Object) bool { return object.GetLabels()["ours"] != "" },
	}
	plan, err := applier.Plan(t.Context(), intent)
	if err != nil || plan.Action != apply.Created || plan.Object.ResourceVersion != "" {
		t.Errorf("%+v, %v", plan, err)
	}
	outcome, err := applier.Apply(t.Context(), intent)
	if err != nil || outcome.Action != apply.Created || outcome.Attempts != 1 {
		t.Errorf("%+v, %v", outcome, err)
	}
	if plan, err = applier.Plan(t.Context(), intent); err != nil || !errors.Is(plan.Refused, apply.ErrNotOurs) {
		t.Errorf("%+v, %v; want it to say whose it is", plan, err)
	}
}
