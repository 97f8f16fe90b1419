package apply_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"coapply.dev/apply"
)

// TestBirthOfOne: where the caller says which object is meant, no other takes its place.
func TestBirthOfOne(t *testing.T) {
	intent := apply.Intent{Config: threeReplicas(), Belongs: isBornOurs, UID: "uid-0"}
	mustExist := apply.Intent{Config: threeReplicas(), Belongs: isBornOurs, MustExist: true}
	run(t, map[string]testCase{
		"made anew": {
			reason: "nothing is looked at: another object is not meant",
			intent: intent, cache: cache{object: bornOurs("uid-0", "7")},
			steps: []step{{"PATCH uid=uid-0", otherUID()}},
			err:   apply.ErrUIDMismatch, attempts: 1,
		},
		"somebody else's by now": {
			reason: "that it is another object comes first",
			intent: intent, cache: cache{}, steps: []step{{"GET", ok(web("uid-2", "7"))}},
			err: apply.ErrUIDMismatch,
		},
		"made anew after the live read": {
			reason: "it was found, and is still the only one that is meant",
			intent: intent, cache: cache{},
			steps: []step{{"GET", ok(bornOurs("uid-0", "7"))}, {"PATCH uid=uid-0", otherUID()}},
			err:   apply.ErrUIDMismatch, attempts: 1,
		},
		"must exist, and is made anew": {
			reason: "the intent meant the object in the cache",
			intent: mustExist, cache: cache{object: bornOurs("uid-1", "7")},
			steps: []step{{"PATCH uid=uid-1", otherUID()}},
			err:   apply.ErrUIDMismatch, attempts: 1,
		},
		"must exist, and the cache is broken": {
			reason: "that is not for Belongs to judge",
			intent: mustExist, cache: cache{err: apierrors.NewBadRequest("the cache is broken")},
			err: apply.ErrRefused,
		},
	})
}

// TestBirthOfNone: neither a dry run nor an answer without a uid says which object is there now.
func TestBirthOfNone(t *testing.T) {
	intent := apply.Intent{Config: threeReplicas(), Belongs: isBornOurs}
	exclusively := "PATCH resourceVersion=1"
	s := newScript(t, []step{{exclusively, created(bornOurs("", "7"))}, {exclusively, created(bornOurs("uid-1", "7"))}})
	a := s.applier(apply.Policy{}, cache{})
	for range 2 {
		if _, err := a.Apply(t.Context(), intent); err != nil {
			t.Error(err)
		}
	}
	plan := []step{{"GET", notFound()}, {"GET", notFound()}, {exclusively, created(bornOurs("uid-9", ""))}}
	planner := newScript(t, append(plan, plan...)).planner(apply.Config{}, true)
	for range 2 {
		if _, err := planner.Plan(t.Context(), intent); err != nil {
			t.Error(err)
		}
	}
}
