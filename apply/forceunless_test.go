package apply_test

import (
	"errors"
	"testing"

	"coapply.dev/apply"
)

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
	run(t, map[string]testCase{
		"may not": {
			reason: "nothing lands",
			policy: forcesReplicas.ForceUnless(answers(errFight)),
			steps:  []step{{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))}},
			err:    apply.ErrConflict, attempts: 1, conflicts: []string{rejectReplicas + " (a fight)"},
		},
		"may not any more": {
			reason: "the last look decides, and nothing was forced before it",
			policy: force.ForceUnless(answers(nil, errFight)),
			steps: []step{
				{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))},
				{"PATCH", conflict(hpaReplicas)},
			},
			err: apply.ErrConflict, attempts: 2, conflicts: []string{rejectReplicas + " (a fight)"},
		},
		"may": {
			reason: "as without it",
			policy: force.ForceUnless(answers(nil)),
			steps: []step{
				{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))},
				{"PATCH", conflict(hpaReplicas)},
				{"PATCH uid=uid-1 resourceVersion=7 force", ok(web("uid-1", "8"))},
			},
			action: apply.Configured, attempts: 3, conflicts: []string{forcedReplicas},
		},
		"what gives way": {
			reason: "is not asked for",
			policy: relinquish.ForceUnless(answers(errFight)),
			steps: []step{
				{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))},
				{"PATCH uid=uid-1", ok(web("uid-1", "8"))},
			},
			attempts: 2, action: apply.Configured, conflicts: []string{relinquishedReplicas},
		},
	})
	if len(asked) == 0 {
		t.Fatal("nothing was asked")
	}
	for _, c := range asked {
		if o := c.Object; o.String() != "Deployment shop/web" || o.UID != "uid-1" || o.ResourceVersion != "7" {
			t.Errorf("asked about %v %s at %s, want Deployment shop/web uid-1 at 7", o, o.UID, o.ResourceVersion)
		}
	}
}
