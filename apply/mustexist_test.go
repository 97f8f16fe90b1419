package apply_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"coapply.dev/apply"
)

func TestMustExist(t *testing.T) {
	partial := apply.Intent{Config: threeReplicas(), MustExist: true}
	pinned := threeReplicas()
	pinned.WithUID("uid-0")
	cached := cache{object: web("uid-1", "7")}
	run(t, map[string]testCase{
		"absent in the cache": {
			reason: "the API server confirms it",
			intent: partial, cache: cache{}, steps: []step{{"GET", notFound()}}, action: apply.Absent,
		},
		"absent in a cache that is behind": {
			reason: "the object may be new, and nothing may lead to a further apply",
			intent: partial, cache: cache{},
			steps:  []step{{"GET", ok(web("uid-1", "7"))}, {"PATCH uid=uid-1", ok(web("uid-1", "8"))}},
			action: apply.Configured, attempts: 1,
		},
		"changed": {
			reason: "pinned to the uid in the cache",
			intent: partial, cache: cached,
			steps:  []step{{"PATCH uid=uid-1", ok(web("uid-1", "8"))}},
			action: apply.Configured, attempts: 1,
		},
		"unchanged": {
			reason: "the resourceVersion of the cache",
			intent: partial, cache: cached,
			steps:  []step{{"PATCH uid=uid-1", ok(web("uid-1", "7"))}},
			action: apply.Unchanged, attempts: 1,
		},
		"deleted meanwhile": {
			reason: "409 without causes; the read tells it from a stale write",
			intent: partial, cache: cached,
			steps:  []step{{"PATCH uid=uid-1", stale()}, {"GET", notFound()}},
			action: apply.Absent, attempts: 1,
		},
		"recreated meanwhile": {
			reason: "422",
			intent: partial, cache: cached,
			steps: []step{{"PATCH uid=uid-1", otherUID()}},
			err:   apply.ErrUIDMismatch, attempts: 1,
		},
		"deleted, then recreated": {
			reason: "409 without causes, and the read finds another object",
			intent: partial, cache: cached,
			steps: []step{{"PATCH uid=uid-1", stale()}, {"GET", ok(web("uid-2", "9"))}},
			err:   apply.ErrUIDMismatch, attempts: 1,
		},
		"a race inside the server": {
			reason: "409 without causes, and the object is the same",
			intent: partial, cache: cached,
			steps: []step{
				{"PATCH uid=uid-1", stale()}, {"GET", ok(web("uid-1", "9"))},
				{"PATCH uid=uid-1", stale()}, {"GET", ok(web("uid-1", "10"))},
				{"PATCH uid=uid-1", stale()}, {"GET", ok(web("uid-1", "11"))},
			},
			err: apply.ErrRetryable, attempts: 3,
		},
		"rejected": {
			reason: "partial intents have conflicts as others do",
			intent: partial, cache: cached,
			steps: []step{{"PATCH uid=uid-1", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "9"))}},
			err:   apply.ErrConflict, attempts: 1, conflicts: []string{rejectReplicas},
		},
		"deleted before the force": {
			reason: "waited for, with nothing reported as forced",
			intent: partial, cache: cached, policy: force,
			steps: []step{
				{"PATCH uid=uid-1", conflict(hpaReplicas)},
				{"GET", ok(web("uid-1", "9"))},
				{"PATCH uid=uid-1", conflict(hpaReplicas)},
				{"PATCH uid=uid-1 resourceVersion=9 force", stale()},
				{"GET", notFound()},
			},
			action: apply.Absent, attempts: 3,
		},
		"gone when judged": {
			reason: "waited for",
			intent: partial, cache: cached, policy: force,
			steps: []step{
				{"PATCH uid=uid-1", conflict(hpaReplicas)},
				{"GET", ok(web("uid-1", "9"))},
				{"PATCH uid=uid-1", stale()},
				{"GET", notFound()},
			},
			action: apply.Absent, attempts: 2,
		},
		"recreated before the force": {
			reason: "the intent meant the object in the cache",
			intent: partial, cache: cached, policy: force,
			steps: []step{
				{"PATCH uid=uid-1", conflict(hpaReplicas)},
				{"GET", ok(web("uid-1", "9"))},
				{"PATCH uid=uid-1", conflict(hpaReplicas)},
				{"PATCH uid=uid-1 resourceVersion=9 force", otherUID()},
			},
			err: apply.ErrUIDMismatch, attempts: 3, conflicts: []string{forcedReplicas},
		},
		"another uid in the cache": {
			reason: "the intent says which object it means",
			intent: apply.Intent{Config: pinned, MustExist: true}, cache: cached,
			err: apply.ErrUIDMismatch,
		},
		"no uid in the cache": {
			reason: "unpinned, the apply could create",
			intent: partial, cache: cache{object: web("", "7")},
			err: apply.ErrRefused,
		},
		"broken cache": {
			reason: "the API server answers instead",
			intent: partial, cache: cache{err: errors.New("the cache is not started")},
			steps:  []step{{"GET", ok(web("uid-1", "7"))}, {"PATCH uid=uid-1", ok(web("uid-1", "7"))}},
			action: apply.Unchanged, attempts: 1,
		},
	})
}

// The errors say which object was meant, and what is wrong with the cache.
func TestMustExistSaysWhy(t *testing.T) {
	mismatch := (*apply.UIDMismatchError)(nil)
	s := newScript(t, []step{{"PATCH uid=uid-1", otherUID()}})
	_, err := s.applier(force, cache{object: web("uid-1", "7")}).Apply(t.Context(), apply.Intent{Config: threeReplicas(), MustExist: true})
	if !errors.As(err, &mismatch) || mismatch.Object.UID != "uid-1" {
		t.Errorf("%v of %+v; want it of uid-1", err, mismatch)
	}
	broken := cache{err: apierrors.NewBadRequest("the cache is not started")}
	_, err = newScript(t, nil).applier(force, broken).Apply(t.Context(), apply.Intent{Config: threeReplicas(), MustExist: true})
	if err == nil || !strings.Contains(err.Error(), "the cache is not started") {
		t.Errorf("%v; want it to say what the cache says", err)
	}
}

// What is missing is named as rights name it.
func TestMissingRightNamesTheResource(t *testing.T) {
	var log strings.Builder
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, text string) { log.WriteString(text) }, funcr.Options{}))
	s := newScript(t, []step{{"GET", ok(web("uid-1", "7"))}, {"PATCH uid=uid-1", ok(web("uid-1", "7"))}})
	refused := cache{err: apierrors.NewForbidden(deployments, "web", errors.New("no get"))}
	if _, err := s.applier(force, refused).Apply(ctx, apply.Intent{Config: threeReplicas(), MustExist: true}); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), `"resource"="deployments.apps"`) {
		t.Error(log.String())
	}
}

// Without a cache the uid is read from the server, and the request counts.
func TestMustExistWithoutCache(t *testing.T) {
	run(t, map[string]testCase{
		"absent": {
			reason: "one read",
			intent: apply.Intent{Config: threeReplicas(), MustExist: true},
			steps:  []step{{"GET", notFound()}},
			action: apply.Absent,
		},
		"there": {
			reason: "one read, one apply",
			intent: apply.Intent{Config: threeReplicas(), MustExist: true},
			steps:  []step{{"GET", ok(web("uid-1", "7"))}, {"PATCH uid=uid-1", ok(web("uid-1", "7"))}},
			action: apply.Unchanged, attempts: 1,
		},
	})
}

// TestMustExistOfAnUnknownKind: it is read as it is, where the client has no Go type.
func TestMustExistOfAnUnknownKind(t *testing.T) {
	gadget := func(uid, version string) map[string]any {
		return map[string]any{"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": map[string]any{
			"name": "web", "namespace": "shop", "uid": uid, "resourceVersion": version,
		}}
	}
	intent := map[string]any{"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": map[string]any{"name": "web", "namespace": "shop"}}
	s := newScript(t, []step{{"GET", ok(gadget("uid-1", "7"))}, {"PATCH uid=uid-1", ok(gadget("uid-1", "7"))}})
	outcome, err := s.applier(force, nil).Apply(t.Context(), apply.Intent{Config: loose(intent), MustExist: true})
	if err != nil || outcome.Action != apply.Unchanged {
		t.Errorf("%+v, %v", outcome, err)
	}
}

// TestMustExistSaysWhatFailed: a cache that fails is not an object without uid.
func TestMustExistSaysWhatFailed(t *testing.T) {
	broken := cache{err: apierrors.NewBadRequest("the cache is not started")}
	_, err := newScript(t, nil).applier(apply.Policy{}, broken).Apply(t.Context(), apply.Intent{Config: threeReplicas(), MustExist: true})
	if err == nil || !strings.Contains(err.Error(), "reading the object: the cache is not started") {
		t.Error(err)
	}
}
