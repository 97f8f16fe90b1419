package apply_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"coapply.dev/apply"
)

func scaleIntent() apply.Intent {
	return apply.Intent{Config: appsv1ac.Deployment("web", "shop"), Subresource: "scale", Body: scale(3)}
}

// TestScaleGivesWay: a Scale does not show who owns it. It gives way as the server says, each
// time anew.
func TestScaleGivesWay(t *testing.T) {
	moved := scaleOf("uid-1", "8")
	moved["spec"] = map[string]any{"replicas": 6}
	refused, left := step{"PATCH", at("/scale", conflict(hpaReplicas))}, step{"PATCH uid=uid-1", at("/scale", ok(scaleOf("uid-1", "8")))}
	for reason, c := range map[string]struct {
		policy apply.Policy
		first  []step
		sent   string // at last
		want   string
	}{
		"relinquished": {relinquish, nil, `"uid":"uid-1"}}`, relinquishedReplicas},
		"shared":       {share, nil, `"replicas":5`, sharedReplicas},
		"shared, and moved on": {share, []step{
			refused, {"GET", at("/scale", ok(scaleOf("uid-1", "7")))}, {"PATCH uid=uid-1", at("/scale", conflict(hpaReplicas))},
			{"GET", at("/scale", ok(moved))}, refused, left,
		}, `"replicas":6`, "Share .spec.replicas to 3: owned by hpa/Update[scale] with 6"},
	} {
		t.Run(reason, func(t *testing.T) {
			round := []step{refused, {"GET", at("/scale", ok(scaleOf("uid-1", "7")))}, left}
			times := 2
			if c.first != nil {
				round, times = c.first, 1
			}
			var steps []step
			for range times {
				steps = append(steps, round...)
			}
			s := newScript(t, steps)
			applier := s.applier(c.policy, nil)
			for range times {
				outcome, err := applier.Apply(t.Context(), scaleIntent())
				if diff := cmp.Diff([]string{c.want}, texts(outcome.Conflicts)); diff != "" || err != nil {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
				if got := canonical(t, lastBody(s)); !strings.Contains(got, c.sent) {
					t.Errorf("sent %s, want %s", got, c.sent)
				}
			}
		})
	}
}

// TestSharedStatus: who shares a field through a subresource is no owner to whom the
// intent gives way.
func TestSharedStatus(t *testing.T) {
	status := func(version string, own bool) *appsv1.Deployment {
		d := web("uid-1", version)
		d.Status.Replicas = 5
		d.ManagedFields = append(d.ManagedFields, entry("hpa", "Update", "status", `{"f:status":{"f:replicas":{}}}`))
		if own {
			d.ManagedFields = append(d.ManagedFields, entry(manager, "Apply", "status", `{"f:status":{"f:replicas":{}}}`))
		}
		return d
	}
	named := conflict(cause(".status.replicas", `"hpa" with subresource "status" using apps/v1`))
	s := newScript(t, []step{
		{"PATCH", at("/status", named)}, {"GET", ok(status("7", false))}, {"PATCH uid=uid-1", at("/status", ok(status("8", true)))},
		{"GET", ok(status("8", true))}, {"PATCH uid=uid-1", at("/status", ok(status("8", true)))},
	})
	applier := s.applier(share, nil)
	for range 2 {
		config := appsv1ac.Deployment("web", "shop").WithStatus(appsv1ac.DeploymentStatus().WithReplicas(1))
		outcome, err := applier.Apply(t.Context(), apply.Intent{Config: config, Subresource: "status"})
		if err != nil || len(outcome.Conflicts) != 1 {
			t.Errorf("%v, %v", texts(outcome.Conflicts), err)
		}
	}
}

// TestStatusWithoutRecordExchange tells which object it was.
func TestStatusWithoutRecordExchange(t *testing.T) {
	s := newScript(t, []step{{"PATCH", at("/status", ok(web("uid-1", "8")))}})
	config := loose(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "status": map[string]any{"replicas": 1},
		"metadata": map[string]any{"name": "web", "namespace": "shop"}})
	outcome, err := s.applierOver(s.restConfig(false), apply.Config{}, nil).
		Apply(t.Context(), apply.Intent{Config: config, Subresource: "status"})
	if err != nil || outcome.Object.UID != "uid-1" || outcome.Object.ResourceVersion != "8" {
		t.Errorf("%+v, %v", outcome.Object, err)
	}
}
