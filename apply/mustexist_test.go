package apply_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// brokenCache makes the cache fail.
func brokenCache(err error) func(*world) { return func(w *world) { w.cache = cache{err: err} } }

func TestMustExist(t *testing.T) {
	partial := apply.Intent{Config: threeReplicas(), MustExist: true}
	another := apply.Intent{Config: threeReplicas(), UID: "uid-0", MustExist: true}
	play(t, map[string]scene{
		"absent in the cache": {
			reason: "the API server confirms it",
			intent: partial, happens: allOf(removed, notCached), sent: []string{read}, action: apply.Absent,
		},
		"absent in a cache that is behind": {
			reason: "the object may be new, and nothing may lead to a further apply",
			intent: partial, happens: allOf(alone, notCached), sent: []string{read, pinned}, action: apply.Configured, attempts: 1,
		},
		"changed": {
			reason: "pinned to the uid in the cache",
			intent: partial, happens: allOf(alone, cachedNow), sent: []string{pinned}, action: apply.Configured, attempts: 1,
		},
		"unchanged": {
			reason: "the resourceVersion of the cache",
			intent: partial, happens: allOf(appliedNow, cachedNow), sent: []string{pinned}, action: apply.Unchanged, attempts: 1,
		},
		"deleted meanwhile": {
			reason: "409 without causes; the read tells it from a stale write",
			intent: partial, happens: allOf(alone, cachedNow, removed), sent: []string{pinned, read}, action: apply.Absent, attempts: 1,
		},
		"recreated meanwhile": {
			reason: "422",
			intent: partial, happens: allOf(alone, cachedNow, recreated(kubectl)), sent: []string{pinned}, err: apply.ErrUIDMismatch, attempts: 1,
		},
		"deleted, then recreated": {
			reason: "409 without causes, and the read finds another object",
			intent: partial, happens: allOf(alone, cachedNow, removed, before(2, appears)), sent: []string{pinned, read}, err: apply.ErrUIDMismatch, attempts: 1,
		},
		"a race inside the server": {
			reason: "409 without causes, and the object is the same", intent: partial,
			happens: allOf(alone, cachedNow, fails(1, overtaken), fails(3, overtaken), fails(5, overtaken)),
			sent:    []string{pinned, read, pinned, read, pinned, read}, err: apply.ErrRetryable, attempts: 3,
		},
		"rejected": {
			reason: "partial intents have conflicts as others do",
			intent: partial, happens: cachedNow, sent: []string{pinned, read}, err: apply.ErrConflict, attempts: 1, conflicts: []string{rejectReplicas},
		},
		"deleted before the force": {
			reason: "waited for, with nothing reported as forced", intent: partial, policy: force,
			happens: allOf(cachedNow, before(4, removed)), sent: []string{pinned, read, pinned, forces, read}, action: apply.Absent, attempts: 3,
		},
		"gone when judged": {
			reason: "waited for", intent: partial, policy: force,
			happens: allOf(cachedNow, before(3, removed)), sent: []string{pinned, read, pinned, read}, action: apply.Absent, attempts: 2,
		},
		"recreated before the force": {
			reason: "the intent meant the object in the cache", intent: partial, policy: force,
			happens: allOf(cachedNow, before(4, recreated())), sent: []string{pinned, read, pinned, forces, read},
			err: apply.ErrUIDMismatch, attempts: 3, conflicts: []string{forcedReplicas},
		},
		"another uid in the cache": {
			reason: "the live object has another uid as well", intent: another, happens: cachedNow, sent: []string{read}, err: apply.ErrUIDMismatch,
		},
		"no uid in the cache": {
			reason: "unpinned, the apply could create", intent: partial, happens: func(w *world) {
				object := w.Live()
				object.UID = ""
				w.cache = cache{object: object}
			}, err: apply.ErrRefused,
		},
		"broken cache": {
			reason: "the API server answers instead", intent: partial,
			happens: allOf(appliedNow, brokenCache(errors.New("the cache is not started"))), sent: []string{read, pinned}, action: apply.Unchanged, attempts: 1,
		},
		"absent, without a cache": {
			reason: "the uid is read from the server, and the request counts", intent: partial, happens: removed, sent: []string{read}, action: apply.Absent,
		},
		"there, without a cache": {
			reason: "one read, one apply", intent: partial, happens: appliedNow, sent: []string{read, pinned}, action: apply.Unchanged, attempts: 1,
		},
	})
}

// The errors say which object was meant, and what is wrong with the cache.
func TestMustExistSaysWhy(t *testing.T) {
	mismatch := (*apply.UIDMismatchError)(nil)
	w := newWorld(t)
	cachedNow(w)
	meant := w.Live().UID
	w.Recreate(kubectl)
	_, err := w.applier(force).Apply(t.Context(), apply.Intent{Config: threeReplicas(), MustExist: true})
	if !errors.As(err, &mismatch) || mismatch.Object.UID != meant {
		t.Errorf("%v of %+v; want it of %s", err, mismatch, meant)
	}
	w.Forget()
	w.cache = cache{err: apierrors.NewBadRequest("the cache is not started")}
	_, err = w.applier(force).Apply(t.Context(), apply.Intent{Config: threeReplicas(), MustExist: true})
	if err == nil || !strings.Contains(err.Error(), "reading the object: the cache is not started") {
		t.Errorf("%v; want it to say what the cache says", err)
	}
	w.WantSent()
}

// What is missing is named as rights name it.
func TestMissingRightNamesTheResource(t *testing.T) {
	var log strings.Builder
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, text string) { log.WriteString(text) }, funcr.Options{}))
	w := newWorld(t, kubectl)
	w.cache = cache{err: apierrors.NewForbidden(deployments, "web", errors.New("no get"))}
	if _, err := w.applier(force).Apply(ctx, apply.Intent{Config: threeReplicas(), MustExist: true}); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), `"resource"="deployments.apps"`) {
		t.Error(log.String())
	}
	w.WantSent(read, pinned)
}

// TestMustExistOfAnUnknownKind: it is read as it is, where the client has no Go type.
func TestMustExistOfAnUnknownKind(t *testing.T) {
	w := newEmptyWorld(t)
	kind := w.Gadgets()
	intent := map[string]any{"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind, "metadata": map[string]any{"name": "web", "namespace": "shop", "labels": map[string]any{"a": "b"}}}
	w.Must(w.Apply(t.Context(), loose(intent), client.FieldOwner(manager)))
	outcome, err := w.applier(force).Apply(t.Context(), apply.Intent{Config: loose(intent), MustExist: true})
	if err != nil || outcome.Action != apply.Unchanged {
		t.Errorf("%+v, %v", outcome, err)
	}
	w.WantSent("GET gadgets/web", "PATCH gadgets/web uid")
}
