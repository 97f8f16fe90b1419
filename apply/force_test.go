package apply_test

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

func TestConflict(t *testing.T) {
	two := apply.Intent{Config: appsv1ac.Deployment("web", "shop").
		WithSpec(appsv1ac.DeploymentSpec().WithReplicas(3).WithPaused(false))}
	rejectPause := "Reject .spec.paused to false: owned by kubectl/Apply with value true"
	play(t, map[string]scene{
		"rejected": {
			reason: "the zero policy rejects; the read gives the live value; nothing is sent after it",
			sent:   []string{whole, read}, attempts: 1, err: apply.ErrConflict, conflicts: []string{rejectReplicas},
		},
		"one of two rejected": {
			reason: "nothing lands, not even what the policy would force",
			intent: two, policy: forcesReplicas,
			sent: []string{whole, read}, attempts: 1, err: apply.ErrConflict, conflicts: []string{rejectPause, forcedReplicas},
		},
		"forced": {
			reason: "pinned to the read that came before the judged answer", policy: forcesReplicas,
			sent: []string{whole, read, whole, forces}, action: apply.Configured, attempts: 3, conflicts: []string{forcedReplicas},
		},
		"gone when judged": {
			reason: "the other manager let go: nothing was forced, and nothing is reported as such", policy: force,
			happens: before(3, owned(kubectl)), sent: []string{whole, read, whole}, action: apply.Configured, attempts: 2,
		},
		"another one when judged": {
			reason: "a field that became contested after the first answer is never taken", intent: two, policy: forcesReplicas,
			happens: allOf(owned(hpa), before(3, owned(hpa, kubectl))), sent: []string{whole, read, whole},
			attempts: 2, err: apply.ErrConflict, conflicts: []string{rejectPause, forcedReplicas},
		},
		"unknown owner": {
			reason: "a manager without an entry, before-first-apply: the field is the one that the intent sets",
			policy: forcesReplicas.At(".spec.replica", apply.Relinquish), happens: owned(),
			sent: []string{whole, read, whole, forces}, attempts: 3, action: apply.Configured,
			conflicts: []string{"Force .spec.replicas to 3: owned by before-first-apply/Update with value 5"},
		},
		"unreadable managed fields": {
			reason: "the server's answer names owner and field: who forges an entry does not keep us from it", policy: forcesReplicas,
			happens: owned(entry("hpa", "Update", "scale", deep(`,"f:spec":{"f:replicas":{}}`))),
			sent:    []string{whole, read, whole, forces}, action: apply.Configured, attempts: 3, conflicts: []string{forcedReplicas},
		},
		"unreadable object": {
			reason: "no permission to get", policy: force, happens: fails(2, forbidden),
			sent: []string{whole, read}, attempts: 1, err: apply.ErrRefused,
		},
		"nothing to pin to, no resourceVersion": {
			reason: "a force is never sent unpinned", policy: force,
			happens: func(w *world) { w.live = func(o client.Object) { o.SetResourceVersion("") } },
			sent:    []string{whole, read}, attempts: 1, err: apply.ErrRefused,
		},
		"nothing to pin to, no uid": {
			reason: "a force is never sent unpinned", policy: force,
			happens: func(w *world) { w.live = func(o client.Object) { o.SetUID("") } },
			sent:    []string{whole, read}, attempts: 1, err: apply.ErrRefused,
		},
		"force fails": {
			reason: "an error of the forced apply is classified as any other; the next try judges anew", policy: force,
			happens: allOf(fails(4, apierrors.NewTimeoutError("slow", 0)), fails(8, apierrors.NewBadRequest("no"))),
			sent:    []string{whole, read, whole, forces, whole, read, whole, forces}, attempts: 6, err: apply.ErrRefused, conflicts: []string{forcedReplicas},
		},
	})
}

// TestForceUnless has what may be forced depend on more than the conflict.
func TestForceUnless(t *testing.T) {
	var asked []apply.Conflict
	errFight := errors.New("a fight")
	answers := func(all ...error) func(apply.Conflict) error {
		return func(c apply.Conflict) error {
			asked = append(asked, c)
			answer := all[0]
			if len(all) > 1 {
				all = all[1:]
			}
			return answer
		}
	}
	play(t, map[string]scene{
		"may not": {
			reason: "nothing lands", policy: forcesReplicas.ForceUnless(answers(errFight)),
			sent: []string{whole, read}, err: apply.ErrConflict, attempts: 1, conflicts: []string{rejectReplicas + " (a fight)"},
		},
		"may not any more": {
			reason: "the last look decides, and nothing was forced before it", policy: force.ForceUnless(answers(nil, errFight)),
			sent: []string{whole, read, whole}, err: apply.ErrConflict, attempts: 2, conflicts: []string{rejectReplicas + " (a fight)"},
		},
		"may": {
			reason: "as without it", policy: force.ForceUnless(answers(nil)),
			sent: []string{whole, read, whole, forces}, action: apply.Configured, attempts: 3, conflicts: []string{forcedReplicas},
		},
		"what gives way": {
			reason: "is not asked for", policy: relinquish.ForceUnless(answers(errFight)),
			sent: []string{whole, read, pinned}, attempts: 2, action: apply.Configured, conflicts: []string{relinquishedReplicas},
		},
	})
	if len(asked) == 0 {
		t.Fatal("nothing was asked")
	}
	for _, c := range asked {
		if o := c.Object; o.String() != "Deployment shop/web" || o.UID == "" || o.ResourceVersion == "" {
			t.Errorf("asked about %v %s at %s, want Deployment shop/web as it was read", o, o.UID, o.ResourceVersion)
		}
	}
}
