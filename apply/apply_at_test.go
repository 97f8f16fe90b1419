package apply_test

import (
	"errors"
	"testing"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"coapply.dev/apply"
)

// TestApplyAt sends once, pinned to a version, whatever comes of it.
func TestApplyAt(t *testing.T) {
	pinned := apply.Intent{Config: threeReplicas(), UID: "uid-1"}
	status := appsv1ac.Deployment("web", "shop").WithStatus(appsv1ac.DeploymentStatus().WithReplicas(1))
	const at7 = "PATCH uid=uid-1 resourceVersion=7"
	for reason, c := range map[string]struct {
		intent apply.Intent
		steps  []step
		action apply.Action
		is     func(error) bool // nil: it lands
	}{
		"the version is that of the object": {pinned, []step{{at7, ok(web("uid-1", "8"))}}, apply.Configured, nil},
		"without a uid": {
			apply.Intent{Config: threeReplicas()}, []step{{"PATCH resourceVersion=7", ok(web("uid-1", "8"))}}, apply.Configured, nil,
		},
		"whose it is says the version": {
			apply.Intent{Config: threeReplicas(), UID: "uid-1", Belongs: isBornOurs}, []step{{at7, ok(web("uid-1", "8"))}}, apply.Configured, nil,
		},
		"whose status it is, too": {
			apply.Intent{Config: status, UID: "uid-1", Subresource: "status", Belongs: isBornOurs},
			[]step{{at7, at("/status", ok(web("uid-1", "8")))}}, apply.Configured, nil,
		},
		"overtaken": {pinned, []step{{at7, stale()}}, "", apply.IsStaleWrite},
		"conflicts": {pinned, []step{{at7, conflict(hpaReplicas)}}, "", apply.IsOwnershipConflict},
		"recreated": {pinned, []step{{at7, otherUID()}}, "", func(err error) bool { return errors.Is(err, apply.ErrUIDMismatch) }},
		"no kind":   {apply.Intent{Config: &appsv1ac.DeploymentApplyConfiguration{}}, nil, "", func(err error) bool { return errors.Is(err, apply.ErrInvalidIntent) }},
	} {
		t.Run(reason, func(t *testing.T) {
			outcome, err := newScript(t, c.steps).applier(force, cache{}).ApplyAt(t.Context(), c.intent, "7")
			if (c.is == nil) != (err == nil) || err != nil && !c.is(err) || outcome.Action != c.action || outcome.Attempts != len(c.steps) {
				t.Errorf("%+v, %v", outcome, err)
			}
		})
	}
}
