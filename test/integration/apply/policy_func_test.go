package apply

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// TestPolicyFuncIsAskedAboutConflicts: and about nothing else, such as a field that another
// manager owns at the value that is wanted.
func TestPolicyFuncIsAskedAboutConflicts(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.RecordedConfig(t))
	namespace := kit.NewNamespace(t, c)
	asked := 0
	us := kit.NewApplier(t, c, "us", apply.Policy{}.Func(func(apply.Conflict) (apply.Decision, bool) {
		asked++
		return apply.Force, true
	}))
	config := kit.Deployment("a", namespace, "v1")
	config.Spec.WithReplicas(3)
	for range 2 {
		if _, err := us.Apply(t.Context(), apply.Intent{Config: config}); err != nil {
			t.Fatal(err)
		}
		if err := c.Apply(t.Context(), kit.Replicas("a", namespace, 3), client.FieldOwner("them")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := us.Apply(t.Context(), apply.Intent{Config: config}); err != nil || asked > 0 {
		t.Errorf("asked %d times where nothing conflicts: %v", asked, err)
	}
	config.Spec.WithReplicas(4)
	if _, err := us.Apply(t.Context(), apply.Intent{Config: config}); err != nil || asked == 0 {
		t.Errorf("asked %d times where something conflicts: %v", asked, err)
	}
}
