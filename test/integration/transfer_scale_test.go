package integration

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// TestMigrateScale has somebody scale what ci applies, and brings that under ci: its
// next apply sets the replicas again, under each policy, as nobody else owns them.
// The definition of a Shape says which field its scale stands for.
func TestMigrateScale(t *testing.T) {
	c := shapeClient(t)
	namespace := newNamespace(t, c)
	for kind, form := range scaled {
		for _, decision := range []apply.Decision{apply.Reject, apply.Relinquish, apply.Share} {
			t.Run(kind+"/"+decision.String(), func(t *testing.T) {
				s := newStage(t, c, namespace, kind, "")
				s.must(c.Apply(t.Context(), s.config(form.ours), client.FieldOwner("ci"), client.ForceOwnership))
				s.scale("kubectl")
				ref := refTo(s.object(`{}`).GroupVersionKind(), s.namespace, s.name)
				before := liveAt(t, c, ref)
				if diff := cmp.Diff([]string{"kubectl/Update[scale]"}, s.owners(form.path)); diff != "" {
					t.Fatalf("owners before (-want +got):\n%s", diff)
				}
				ci := newApplier(t, c, "ci", apply.OnConflict(decision))
				transfer, err := ci.Migrate(t.Context(), ref, apply.From{Manager: "kubectl"})
				undo := transferred(t, transfer, err)
				if diff := cmp.Diff([]string{"ci/Apply"}, s.owners(form.path)); diff != "" {
					t.Errorf("owners (-want +got):\n%s", diff)
				}
				redo, err := undo.Do(t.Context())
				s.must(err)
				if diff := cmp.Diff(fieldsBy(t, before.GetManagedFields()), fieldsBy(t, liveAt(t, c, ref).GetManagedFields())); diff != "" {
					t.Errorf("undone (-before +after):\n%s", diff)
				}
				if _, err := redo.Do(t.Context()); err != nil {
					t.Fatal(err)
				}
				outcome, err := ci.Apply(t.Context(), apply.Intent{Config: s.config(form.ours)})
				if err != nil || len(outcome.Conflicts) != 0 {
					t.Errorf("%v: conflicts %v, %v", outcome.Action, outcome.Conflicts, err)
				}
				if got := s.value(form.path); !cmp.Equal(got, form.want) {
					t.Errorf("%s is %v, want %v", form.path, got, form.want)
				}
			})
		}
	}
}

// leftByMigration has ci apply, somebody scale, and the entry of the scale go to
// Apply[scale] of ci, as migrations did that kept each subresource for itself.
func (s *stage) leftByMigration(form shape) {
	s.t.Helper()
	s.must(s.client.Apply(s.t.Context(), s.config(form.ours), client.FieldOwner("ci"), client.ForceOwnership))
	s.scale("kubectl")
	before, left := s.live(), s.live()
	entries := left.GetManagedFields()
	for i := range entries {
		if entries[i].Subresource == "scale" {
			entries[i].Manager, entries[i].Operation = "ci", metav1.ManagedFieldsOperationApply
		}
	}
	left.SetManagedFields(entries)
	s.must(s.client.Patch(s.t.Context(), left, client.MergeFrom(before)))
	if diff := cmp.Diff([]string{"ci/Apply[scale]"}, s.owners(form.path)); diff != "" {
		s.t.Fatalf("owners left (-want +got):\n%s", diff)
	}
}

// TestRenameOwnSubresource brings what a manager applied through a subresource into
// its main entry, which is what audit advises.
func TestRenameOwnSubresource(t *testing.T) {
	c := shapeClient(t)
	namespace := newNamespace(t, c)
	for kind, form := range scaled {
		t.Run(kind, func(t *testing.T) {
			s := newStage(t, c, namespace, kind, "")
			s.leftByMigration(form)
			ref := refTo(s.object(`{}`).GroupVersionKind(), s.namespace, s.name)
			transfer, err := newApplier(t, c, "ci", apply.Policy{}).Rename(t.Context(), ref, apply.From{Manager: "ci"})
			transferred(t, transfer, err)
			if diff := cmp.Diff([]string{"ci/Apply"}, s.owners(form.path)); diff != "" {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
		})
	}
}
