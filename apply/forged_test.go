package apply_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
)

// forged is the deployment when forger owns the replicas by fields that nobody can read.
// noise changes with each version, and is not forger's.
func forged(resourceVersion, fields string) *appsv1.Deployment {
	d := web("uid-1", resourceVersion)
	noise := `{"v` + resourceVersion + `":{}}`
	older := entry("forger", "Update", "", `{"f:spec":{"f:v`+resourceVersion+`":{}}}`)
	older.APIVersion = "apps/v1beta1"
	d.ManagedFields = []metav1.ManagedFieldsEntry{
		older, entry("forger", "Update", "", fields), {Manager: "forger", Operation: "Update", APIVersion: "apps/v1beta2"},
		entry("forger", "Apply", "", noise), entry("forger", "Update", "status", noise), entry("other", "Update", "", noise),
	}
	return d
}

// TestForgedOwner: only the server knows what it owns, so the server is asked each time.
func TestForgedOwner(t *testing.T) {
	const fields, pinned = `{"spec":{}}`, "PATCH uid=uid-1"
	named := conflict(cause(".spec.replicas", `"forger" using apps/v1`))
	s := newScript(t, []step{
		{"PATCH", named}, {"GET", ok(forged("7", fields))}, {pinned, ok(forged("8", fields))},
		{"GET", ok(forged("8", fields))}, {"PATCH", named}, {pinned, ok(forged("9", fields))},
		{"GET", ok(forged("10", `{"specs":{}}`))}, {"PATCH", ok(forged("10", `{"specs":{}}`))},
	})
	applier := s.applier(relinquish, nil)
	relinquished := []string{"Relinquish .spec.replicas to 3: owned by forger/Update with 5"}
	for i, want := range []struct {
		conflicts []string
		unread    int
	}{{relinquished, 5}, {relinquished, 5}, {nil, 5}} {
		outcome, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas()})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.conflicts, texts(outcome.Conflicts)); diff != "" || len(outcome.Unread) != want.unread {
			t.Errorf("apply %d: %d entries unread, want %d; conflicts (-want +got):\n%s", i+1, len(outcome.Unread), want.unread, diff)
		}
	}
}

// TestForgedOwnerBesideHiddenOwners: a read that shows no owners does not make it unknown.
func TestForgedOwnerBesideHiddenOwners(t *testing.T) {
	const fields, pinned = `{"spec":{}}`, "PATCH uid=uid-1"
	named := conflict(cause(".spec.replicas", `"forger" using apps/v1`))
	s := newScript(t, []step{
		{"PATCH", named}, {"GET", ok(forged("7", fields))}, {pinned, stale()}, {"GET", ok(ownersHidden(forged("8", fields)))},
		{"PATCH", named}, {pinned, ok(forged("9", fields))},
		{"GET", ok(forged("9", fields))}, {"PATCH", named}, {pinned, ok(forged("10", fields))},
	})
	applier := s.applier(relinquish, nil)
	for range 2 {
		if outcome, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas()}); err != nil || len(outcome.Conflicts) != 1 {
			t.Errorf("%v, %v", texts(outcome.Conflicts), err)
		}
	}
}

// TestForgedOwnerOfOne: that one field's owner cannot be read says nothing about another field.
func TestForgedOwnerOfOne(t *testing.T) {
	const pinned = "PATCH uid=uid-1"
	both := func(resourceVersion string) answer {
		d := forged(resourceVersion, `{"spec":{}}`)
		d.ManagedFields = append(d.ManagedFields, entry("kubectl", "Apply", "", `{"f:spec":{"f:paused":{}}}`))
		return ok(d)
	}
	named := conflict(kubectlPause, cause(".spec.replicas", `"forger" using apps/v1`))
	s := newScript(t, []step{
		{"PATCH", named}, {"GET", both("7")}, {pinned, both("8")},
		{"GET", both("8")}, {pinned, conflict(cause(".spec.replicas", `"forger" using apps/v1`))}, {pinned, both("9")},
	})
	applier := s.applier(relinquish, nil)
	want := []string{"Relinquish .spec.paused to false: owned by kubectl/Apply with true", "Relinquish .spec.replicas to 3: owned by forger/Update with 5"}
	for i := range 2 {
		outcome, err := applier.Apply(t.Context(), apply.Intent{Config: replicasAndPause()})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, texts(outcome.Conflicts)); diff != "" {
			t.Errorf("apply %d: conflicts (-want +got):\n%s", i+1, diff)
		}
	}
}

// TestForgedEntriesOfARejection: what could not be read is told beside the error.
func TestForgedEntriesOfARejection(t *testing.T) {
	for want, refused := range map[error]answer{
		apply.ErrConflict: conflict(hpaReplicas), apply.ErrRefused: conflict(cause(".spec.replicas", "somebody")),
	} {
		s := newScript(t, []step{{"PATCH", refused}, {"GET", ok(withBrokenEntry("broken", web("uid-1", "7")))}})
		outcome, err := s.applier(apply.Policy{}, nil).Apply(t.Context(), apply.Intent{Config: threeReplicas()})
		if !errors.Is(err, want) || len(outcome.Unread) != 1 {
			t.Errorf("%v; %d entries unread, %v", want, len(outcome.Unread), err)
		}
	}
}
