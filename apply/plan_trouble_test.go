package apply_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"coapply.dev/apply"
)

// TestPlanContended has each dry run answer at another version than was read, as
// other writers bring it about, and clients whose dry runs write.
func TestPlanContended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var steps []step
		for i := range 8 {
			steps = append(steps, step{"GET", ok(ownedWith("uid-1", strconv.Itoa(7+i), 3))},
				step{"PATCH", ok(ownedWith("uid-1", strconv.Itoa(8+i), 3))})
		}
		plan, err := newScript(t, steps).planner(apply.Config{}, true).Plan(t.Context(), apply.Intent{Config: threeReplicas()})
		contended, ok := errors.AsType[*apply.ContendedError](err)
		if !ok || contended.Attempts != 8 || !strings.Contains(err.Error(), "fake client") {
			t.Errorf("%v, want a ContendedError after 8 dry runs that tells of clients without", err)
		}
		if got := plan.String(); got != "nothing was planned\n" {
			t.Errorf("the plan says %q", got)
		}
	})
}

// TestPlanOfANameOnly creates an object with nothing in it.
func TestPlanOfANameOnly(t *testing.T) {
	empty := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{
		"name": "web", "namespace": "shop", "uid": "uid-9",
	}}
	s := newScript(t, []step{{"GET", notFound()}, {"PATCH", ok(empty)}})
	plan, err := s.planner(apply.Config{}, true).Plan(t.Context(), apply.Intent{Config: appsv1ac.Deployment("web", "shop")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("Deployment shop/web: would be created by coapply-test\n", plan.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
