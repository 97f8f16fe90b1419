package apply_test

import (
	"errors"
	"testing"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"

	"coapply.dev/apply"
)

// TestPlanOfWhatIsTakenBack: a plan tells what an Apply would take back, and sends no dry run
// that does not know of it.
func TestPlanOfWhatIsTakenBack(t *testing.T) {
	config := apply.Config{Contract: claims(".spec.replicas")}
	belongs := apply.Intent{Config: threeReplicas(), Belongs: isBornOurs}
	bare := ownersHidden(bornOurs("uid-1", "7"))
	read := func(d *appsv1.Deployment) step { return step{"GET", ok(d)} }
	refused := step{"PATCH uid=uid-1", conflict(phantomReplicas)}
	for reason, c := range map[string]struct {
		intent    apply.Intent
		steps     []step
		want      apply.Action
		takenBack int
		refused   error
	}{
		"as the first read shows": {
			intent: belongs, want: apply.Configured, takenBack: 1,
			steps: []step{read(wiped("7")), read(wiped("7")), read(wiped("7"))},
		},
		"without managed fields": {
			intent: belongs, want: apply.Configured, takenBack: 1,
			steps: []step{read(bare), read(bare), read(bare), {madeUpAt7, ok(wiped("7"))}},
		},
		"written to between two reads": {
			intent: belongs, want: apply.Configured, takenBack: 1,
			steps: []step{read(wiped("7")), read(wiped("7")), read(wiped("8")), read(wiped("8")), read(wiped("8"))},
		},
		"mended between two reads": {
			intent: belongs, want: apply.Unchanged,
			steps: []step{read(wiped("7")), read(wiped("7")), read(wiped("8")), read(mended("9")), read(mended("9")), {"PATCH uid=uid-1", ok(mended("9"))}},
		},
		"wiped after it was looked at": {
			intent: belongs, want: apply.Configured, takenBack: 1,
			steps: []step{read(wiped("7")), read(mended("6")), refused, read(wiped("7")), read(wiped("7"))},
		},
		"of an intent without Belongs": {
			intent: apply.Intent{Config: threeReplicas()}, refused: apply.ErrConflict,
			steps: []step{read(wiped("7")), {"PATCH", conflict(phantomReplicas)}, read(wiped("7"))},
		},
	} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plan, err := newScript(t, c.steps).planner(config, true).Plan(t.Context(), c.intent)
				if err != nil || plan.Action != c.want || len(plan.TakenBack) != c.takenBack || !errors.Is(plan.Refused, c.refused) {
					t.Errorf("%s, %v taken back, refused by %v, %v; want %s, %d", plan.Action, plan.TakenBack, plan.Refused, err, c.want, c.takenBack)
				}
			})
		})
	}
}
