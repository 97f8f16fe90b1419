package apply_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"coapply.dev/apply"
)

// TestReleaseOfAScale: our entry is taken out of the managed fields, at the version that was
// read, and first.
func TestReleaseOfAScale(t *testing.T) {
	const drop = "MERGE uid=uid-1 resourceVersion=7"
	read := step{"GET", ok(ours("uid-1", "7", "scale"))}
	for reason, test := range map[string]struct {
		of       []string
		steps    []step
		want     apply.Action
		err      error
		attempts int
		version  string // of Outcome.Object
	}{
		"alone": {
			steps: []step{read, {drop, ok(web("uid-1", "8"))}}, want: apply.Configured, attempts: 1, version: "8",
		},
		"before the object itself": {
			steps: []step{{"GET", ok(ours("uid-1", "7", "", "status", "scale"))}, {drop, ok(ours("uid-1", "8", "", "status"))},
				{"PATCH uid=uid-1", at("/status", ok(ours("uid-1", "9", "")))}, {"PATCH uid=uid-1", ok(web("uid-1", "10"))}},
			want: apply.Configured, attempts: 3, version: "10",
		},
		"before a subresource that comes first by its name": {
			steps: []step{{"GET", ok(ours("uid-1", "7", "resize", "scale"))}, {drop, ok(ours("uid-1", "8", "resize"))},
				{"PATCH uid=uid-1", at("/resize", ok(web("uid-1", "9")))}},
			want: apply.Configured, attempts: 2, version: "9",
		},
		"somebody else was faster": {
			steps: []step{read, {drop, stale()}, {"GET", ok(web("uid-1", "8"))}}, want: apply.Unchanged, attempts: 1, version: "8",
		},
		"what is asked for": {
			of: []string{"status"}, steps: []step{{"GET", ok(ours("uid-1", "7", "", "status", "scale"))}, {"PATCH uid=uid-1", at("/status", ok(web("uid-1", "8")))}},
			want: apply.Configured, attempts: 1, version: "8",
		},
		"nothing of what is asked for": {
			of: []string{"status"}, steps: []step{read}, want: apply.Unchanged, version: "7",
		},
		"overtaken": {
			steps: []step{read, {drop, stale()}, {"GET", ok(ours("uid-1", "8", "scale"))}, {"MERGE uid=uid-1 resourceVersion=8", ok(web("uid-1", "9"))}},
			want:  apply.Configured, attempts: 2, version: "9",
		},
		"overtaken each time": {
			steps: slices.Repeat([]step{read, {drop, stale()}}, 8), err: apply.ErrContended, attempts: 8, version: "7",
		},
		"refused": {
			steps: []step{read, {drop, fail(apierrors.NewForbidden(deployments, "web", nil))}}, err: apply.ErrRefused, attempts: 1, version: "7",
		},
	} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(t, test.steps)
				outcome, err := s.applier(apply.Policy{}, nil).Release(t.Context(), webAt(""), test.of...)
				if !errors.Is(err, test.err) || test.err == nil && err != nil {
					t.Fatalf("error %v, want %v", err, test.err)
				}
				got := []any{outcome.Action, outcome.Attempts, string(outcome.Object.UID), outcome.Object.ResourceVersion}
				if diff := cmp.Diff([]any{test.want, test.attempts, "uid-1", test.version}, got); diff != "" {
					t.Errorf("action, attempts, uid, version (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestReleaseOfAScaleLeavesOthers: all entries but ours stay as they are.
func TestReleaseOfAScaleLeavesOthers(t *testing.T) {
	others := ours("uid-1", "7", "status")
	others.ManagedFields = append(others.ManagedFields, entry(manager, "Update", "scale", `{"f:spec":{"f:paused":{}}}`), entry("other", "Apply", "scale", `{"f:spec":{"f:replicas":{}}}`))
	all := others.DeepCopy()
	all.ManagedFields = append(all.ManagedFields, entry(manager, "Apply", "scale", `{"f:spec":{"f:replicas":{}}}`))
	s := newScript(t, []step{{"GET", ok(all)}, {"MERGE uid=uid-1 resourceVersion=7", ok(others)}})
	if _, err := s.applier(apply.Policy{}, nil).Release(t.Context(), webAt(""), "scale"); err != nil {
		t.Fatal(err)
	}
	kept := decoded(t, s.bodies[0])["metadata"].(map[string]any)["managedFields"].([]any)
	var names []string
	for _, one := range kept {
		entry := one.(map[string]any)
		subresource, _ := entry["subresource"].(string)
		names = append(names, strings.Join([]string{entry["manager"].(string), entry["operation"].(string), subresource}, "/"))
	}
	want := []string{"hpa/Update/scale", "kubectl/Apply/", manager + "/Apply/status", manager + "/Update/", manager + "/Update/scale", "other/Apply/scale"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
