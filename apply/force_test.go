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
			reason: "a manager without an entry, as before-first-apply: no path, and rules that differ reject",
			policy: forcesReplicas,
			steps: []step{
				{"PATCH", conflict(cause{".spec.replicas", `"before-first-apply" using apps/v1`})},
				{"GET", ok(web("uid-1", "7"))},
			},
			attempts: 1, err: apply.ErrConflict,
			conflicts: []string{"Reject .spec.replicas: owned by before-first-apply/Update"},
		},
		"unreadable cause": {
			reason:   "what cannot be judged is not forced",
			policy:   force,
			steps:    []step{{"PATCH", conflict(cause{".spec.replicas", "somebody"})}, {"GET", ok(web("uid-1", "7"))}},
			attempts: 1, err: apply.ErrRefused,
		},
		"unreadable managed fields": {
			reason: "what cannot be judged is not forced",
			policy: force,
			steps: []step{{"PATCH", conflict(hpaReplicas)}, {"GET", func(r *http.Request) (*http.Response, error) {
				live := web("uid-1", "7")
				live.ManagedFields[0].FieldsType = "FieldsV2"
				return ok(live)(r)
			}}},
			attempts: 1, err: apply.ErrRefused,
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
			reason: "an error of the forced apply is classified as any other",
			policy: force,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)},
				{"GET", ok(web("uid-1", "7"))},
				{"PATCH", conflict(hpaReplicas)},
				{"PATCH uid=uid-1 resourceVersion=7 force", fail(apierrors.NewInternalError(http.ErrBodyNotAllowed))},
			},
			attempts: 3, err: apply.ErrRetryable, conflicts: []string{forcedReplicas},
		},
	})
}

func TestForceThatComesLate(t *testing.T) {
	run(t, map[string]testCase{
		"stale once": {
			reason: "the object changed after the read: judged again, pinned to a new read",
			policy: force,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)},
				{"GET", ok(web("uid-1", "7"))},
				{"PATCH", conflict(hpaReplicas)},
				{"PATCH uid=uid-1 resourceVersion=7 force", stale()},
				{"GET", ok(web("uid-1", "8"))},
				{"PATCH", conflict(hpaReplicas)},
				{"PATCH uid=uid-1 resourceVersion=8 force", ok(web("uid-1", "9"))},
			},
			action: apply.Configured, attempts: 5, conflicts: []string{forcedReplicas},
		},
		"stale, then another conflict": {
			reason: "what made it stale was a manager that must not be overruled",
			policy: forcesReplicas,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)},
				{"GET", ok(web("uid-1", "7"))},
				{"PATCH", conflict(hpaReplicas)},
				{"PATCH uid=uid-1 resourceVersion=7 force", stale()},
				{"GET", ok(web("uid-1", "8"))},
				{"PATCH", conflict(kubectlPause)},
			},
			attempts: 4, err: apply.ErrConflict,
			conflicts: []string{"Reject .spec.paused to null: owned by kubectl/Apply with true"},
		},
		"contended": {
			reason:   "bounded, and never unpinned",
			policy:   force,
			steps:    append([]step{{"PATCH", conflict(hpaReplicas)}}, contendedRounds(8)...),
			attempts: 17, err: apply.ErrContended, conflicts: []string{forcedReplicas},
		},
		"deleted before the read": {
			reason: "an intent without uid may create it again",
			policy: force,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)},
				{"GET", notFound()},
				{"PATCH", created(web("uid-2", "9"))},
			},
			action: apply.Created, attempts: 2,
		},
		"deleted before the read, back when judged": {
			reason: "a force needs a read to be pinned to",
			policy: force,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)},
				{"GET", notFound()},
				{"PATCH", conflict(hpaReplicas)},
				{"GET", ok(web("uid-2", "9"))},
				{"PATCH", conflict(hpaReplicas)},
				{"PATCH uid=uid-2 resourceVersion=9 force", ok(web("uid-2", "10"))},
			},
			action: apply.Configured, attempts: 4, conflicts: []string{forcedReplicas},
		},
		"deleted before the force": {
			reason: "the uid keeps the force from creating an object",
			policy: force,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)},
				{"GET", ok(web("uid-1", "7"))},
				{"PATCH", conflict(hpaReplicas)},
				{"PATCH uid=uid-1 resourceVersion=7 force", stale()},
				{"GET", notFound()},
				{"PATCH", created(web("uid-2", "9"))},
			},
			action: apply.Created, attempts: 4,
		},
		"recreated before the force": {
			reason: "422 for the uid; the new object is judged for itself",
			policy: force,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)},
				{"GET", ok(web("uid-1", "7"))},
				{"PATCH", conflict(hpaReplicas)},
				{"PATCH uid=uid-1 resourceVersion=7 force", otherUID()},
				{"GET", ok(web("uid-2", "9"))},
				{"PATCH", ok(web("uid-2", "10"))},
			},
			action: apply.Configured, attempts: 4,
		},
	})
}

func contendedRounds(n int) (steps []step) {
	for range n {
		steps = append(steps,
			step{"GET", ok(web("uid-1", "7"))},
			step{"PATCH", conflict(hpaReplicas)},
			step{"PATCH uid=uid-1 resourceVersion=7 force", stale()})
	}
	return steps
}

// An intent that carries a uid means that object, with or without MustExist.
func TestPinnedByTheIntent(t *testing.T) {
	config := threeReplicas()
	config.WithUID("uid-1")
	pinned := apply.Intent{Config: config}
	run(t, map[string]testCase{
		"absent": {
			reason: "409 without causes; the read tells; nothing is created",
			intent: pinned,
			steps:  []step{{"PATCH uid=uid-1", stale()}, {"GET", notFound()}},
			err:    apply.ErrUIDMismatch, attempts: 1,
		},
		"recreated": {
			reason: "422",
			intent: pinned,
			steps:  []step{{"PATCH uid=uid-1", otherUID()}},
			err:    apply.ErrUIDMismatch, attempts: 1,
		},
		"recreated with a conflict": {
			reason: "the conflict wins over the uid at the server; the read tells",
			intent: pinned, policy: force,
			steps: []step{{"PATCH uid=uid-1", conflict(hpaReplicas)}, {"GET", ok(web("uid-2", "9"))}},
			err:   apply.ErrUIDMismatch, attempts: 1,
		},
		"gone when judged": {
			reason: "a 409 without causes inside the settling is no stale write",
			intent: pinned, policy: force,
			steps: []step{
				{"PATCH uid=uid-1", conflict(hpaReplicas)},
				{"GET", ok(web("uid-1", "7"))},
				{"PATCH uid=uid-1", stale()},
				{"GET", notFound()},
			},
			err: apply.ErrUIDMismatch, attempts: 2,
		},
	})
}
