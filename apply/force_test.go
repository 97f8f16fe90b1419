package apply_test

import (
	"net/http"
	"testing"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"coapply.dev/apply"
)

func TestConflict(t *testing.T) {
	both := apply.Intent{Config: appsv1ac.Deployment("web", "shop").
		WithSpec(appsv1ac.DeploymentSpec().WithReplicas(3).WithPaused(false))}
	rejectPause := "Reject .spec.paused to false: owned by kubectl/Apply with true"
	run(t, map[string]testCase{
		"rejected": {
			reason:   "the zero policy rejects; the read gives the live value; nothing is sent after it",
			steps:    []step{{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))}},
			attempts: 1, err: apply.ErrConflict, conflicts: []string{rejectReplicas},
		},
		"one of two rejected": {
			reason: "nothing lands, not even what the policy would force",
			intent: both, policy: forcesReplicas,
			steps:    []step{{"PATCH", conflict(hpaReplicas, kubectlPause)}, {"GET", ok(web("uid-1", "7"))}},
			attempts: 1, err: apply.ErrConflict, conflicts: []string{rejectPause, forcedReplicas},
		},
		"forced": {
			reason: "pinned to the read that came before the judged answer",
			policy: forcesReplicas,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)},
				{"GET", ok(web("uid-1", "7"))},
				{"PATCH", conflict(hpaReplicas)},
				{"PATCH uid=uid-1 resourceVersion=7 force", ok(web("uid-1", "8"))},
			},
			action: apply.Configured, attempts: 3, conflicts: []string{forcedReplicas},
		},
		"gone when judged": {
			reason: "the other manager let go: nothing was forced, and nothing is reported as such",
			policy: force,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)},
				{"GET", ok(web("uid-1", "7"))},
				{"PATCH", ok(web("uid-1", "8"))},
			},
			action: apply.Configured, attempts: 2,
		},
		"another one when judged": {
			reason: "a field that became contested after the first answer is never taken",
			intent: both, policy: forcesReplicas,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)},
				{"GET", ok(web("uid-1", "7"))},
				{"PATCH", conflict(hpaReplicas, kubectlPause)},
			},
			attempts: 2, err: apply.ErrConflict, conflicts: []string{rejectPause, forcedReplicas},
		},
		"unknown owner": {
			reason: "a manager without an entry, as before-first-apply: the field is the one that the intent sets",
			policy: forcesReplicas.At(".spec.replica", apply.Relinquish),
			steps: []step{
				{"PATCH", conflict(phantomReplicas)}, {"GET", ok(web("uid-1", "7"))},
				{"PATCH", conflict(phantomReplicas)},
				{"PATCH uid=uid-1 resourceVersion=7 force", ok(web("uid-1", "8"))},
			},
			attempts: 3, action: apply.Configured,
			conflicts: []string{"Force .spec.replicas to 3: owned by before-first-apply/Update with 5"},
		},
		"unknown field": {
			reason: "neither the owner's entry nor the intent has it: no path, and rules that differ reject",
			policy: apply.OnConflict(apply.Reject).At(".spec.replica", apply.Force),
			steps: []step{
				{"PATCH", conflict(cause(".spec.replica.x", `"before-first-apply" using apps/v1`))},
				{"GET", ok(web("uid-1", "7"))},
			},
			attempts: 1, err: apply.ErrConflict,
			conflicts: []string{"Reject .spec.replica.x: owned by before-first-apply/Update"},
		},
		"unreadable cause": {
			reason:   "what cannot be judged is not forced",
			policy:   force,
			steps:    []step{{"PATCH", conflict(cause(".spec.replicas", "somebody"))}, {"GET", ok(web("uid-1", "7"))}},
			attempts: 1, err: apply.ErrRefused,
		},
		"unreadable managed fields": {
			reason: "the server's answer names owner and field: who forges an entry does not keep us from it",
			policy: forcesReplicas,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)},
				{"GET", func(r *http.Request) (*http.Response, error) {
					live := web("uid-1", "7")
					live.ManagedFields[0].FieldsType = "FieldsV2"
					return ok(live)(r)
				}},
				{"PATCH", conflict(hpaReplicas)},
				{"PATCH uid=uid-1 resourceVersion=7 force", ok(web("uid-1", "8"))},
			},
			action: apply.Configured, attempts: 3, conflicts: []string{forcedReplicas},
		},
		"unreadable object": {
			reason: "no permission to get",
			policy: force,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)},
				{"GET", fail(apierrors.NewForbidden(deployments, "web", nil))},
			},
			attempts: 1, err: apply.ErrRefused,
		},
		"nothing to pin to, no resourceVersion": {
			reason:   "a force is never sent unpinned",
			policy:   force,
			steps:    []step{{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", ""))}},
			attempts: 1, err: apply.ErrRefused,
		},
		"nothing to pin to, no uid": {
			reason:   "a force is never sent unpinned",
			policy:   force,
			steps:    []step{{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("", "7"))}},
			attempts: 1, err: apply.ErrRefused,
		},
		"force fails": {
			reason: "an error of the forced apply is classified as any other; the next try judges anew",
			policy: force,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)},
				{"GET", ok(web("uid-1", "7"))},
				{"PATCH", conflict(hpaReplicas)},
				{"PATCH uid=uid-1 resourceVersion=7 force", fail(apierrors.NewTimeoutError("slow", 0))},
				{"PATCH", conflict(hpaReplicas)},
				{"GET", ok(web("uid-1", "8"))},
				{"PATCH", conflict(hpaReplicas)},
				{"PATCH uid=uid-1 resourceVersion=8 force", fail(apierrors.NewBadRequest("no"))},
			},
			attempts: 6, err: apply.ErrRefused, conflicts: []string{forcedReplicas},
		},
	})
}
