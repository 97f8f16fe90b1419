package apply_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"coapply.dev/apply"
)

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
			conflicts: []string{"Reject .spec.paused, which has another name in the intent: owned by kubectl/Apply at apps/v1 with true"},
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
		"deleted before the force, and back": {
			reason: "what was judged is told, whatever comes after it",
			policy: force,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)},
				{"GET", ok(web("uid-1", "7"))},
				{"PATCH", conflict(hpaReplicas)},
				{"PATCH uid=uid-1 resourceVersion=7 force", stale()},
				{"GET", notFound()},
				{"PATCH", conflict(hpaReplicas)},
				{"GET", fail(apierrors.NewForbidden(deployments, "web", nil))},
			},
			attempts: 4, err: apply.ErrRefused, conflicts: []string{forcedReplicas},
		},
		"overtaken when judged, and pinned to nothing": {
			reason: "a race inside the server: all begins anew after a moment",
			policy: force,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)},
				{"GET", ok(web("uid-1", "7"))},
				{"PATCH", stale()},
				{"PATCH", ok(web("uid-1", "8"))},
			},
			action: apply.Configured, attempts: 3,
		},
		"stale, then an answer that cannot be read": {
			reason: "what was judged before is told",
			policy: force,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)},
				{"GET", ok(web("uid-1", "7"))},
				{"PATCH", conflict(hpaReplicas)},
				{"PATCH uid=uid-1 resourceVersion=7 force", stale()},
				{"GET", ok(web("uid-1", "8"))},
				{"PATCH", conflict(cause(".spec.replicas", "somebody"))},
			},
			attempts: 4, err: apply.ErrRefused, conflicts: []string{forcedReplicas},
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
		"recreated when judged": {
			reason: "422: what has the name now is not what is meant, and is not looked at",
			intent: pinned, policy: force,
			steps: []step{{"PATCH uid=uid-1", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))}, {"PATCH uid=uid-1", otherUID()}},
			err:   apply.ErrUIDMismatch, attempts: 2,
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
