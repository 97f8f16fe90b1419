package ownership

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/test/kit"
)

// TestMigrateScale has somebody scale what ci applies, and brings that under ci: its
// next apply sets the replicas again, under each policy, as nobody else owns them.
// The definition of a Shape says which field its scale stands for.
func TestMigrateScale(t *testing.T) {
	c := kit.ShapeClient(t)
	namespace := kit.NewNamespace(t, c)
	for kind, form := range kit.Scaled {
		for _, decision := range []apply.Decision{apply.Reject, apply.Relinquish, apply.Share} {
			t.Run(kind+"/"+decision.String(), func(t *testing.T) {
				s := kit.NewStage(t, c, namespace, kind, "")
				s.Must(c.Apply(t.Context(), s.Config(form.Ours), client.FieldOwner("ci"), client.ForceOwnership))
				s.Scale("kubectl")
				ref := kit.RefTo(s.Object(`{}`).GroupVersionKind(), s.Namespace, s.Name)
				before := kit.LiveAt(t, c, ref)
				if diff := cmp.Diff([]string{"kubectl/Update[scale]"}, s.Owners(form.Path)); diff != "" {
					t.Fatalf("owners before (-want +got):\n%s", diff)
				}
				ci := kit.NewApplier(t, c, "ci", apply.OnConflict(decision))
				transfer, err := ownership.Migrate(t.Context(), ci, ref, ownership.From{Manager: "kubectl"})
				undo := kit.Transferred(t, transfer, err)
				if diff := cmp.Diff([]string{"ci/Apply"}, s.Owners(form.Path)); diff != "" {
					t.Errorf("owners (-want +got):\n%s", diff)
				}
				redo, err := undo.Do(t.Context())
				s.Must(err)
				if diff := cmp.Diff(kit.FieldsBy(t, before.GetManagedFields()), kit.FieldsBy(t, kit.LiveAt(t, c, ref).GetManagedFields())); diff != "" {
					t.Errorf("undone (-before +after):\n%s", diff)
				}
				if _, err := redo.Do(t.Context()); err != nil {
					t.Fatal(err)
				}
				outcome, err := ci.Apply(t.Context(), apply.Intent{Config: s.Config(form.Ours)})
				if err != nil || len(outcome.Conflicts) != 0 {
					t.Errorf("%v: conflicts %v, %v", outcome.Action, outcome.Conflicts, err)
				}
				if got := s.Value(form.Path); !cmp.Equal(got, form.Want) {
					t.Errorf("%s is %v, want %v", form.Path, got, form.Want)
				}
			})
		}
	}
}

// leftByMigration has ci apply, somebody scale, and the entry of the scale go to
// Apply[scale] of ci, as migrations did that kept each subresource for itself.
func leftByMigration(s *kit.Stage, form kit.Shape) {
	s.T.Helper()
	s.Must(s.Client.Apply(s.T.Context(), s.Config(form.Ours), client.FieldOwner("ci"), client.ForceOwnership))
	s.Scale("kubectl")
	before, left := s.Live(), s.Live()
	entries := left.GetManagedFields()
	for i := range entries {
		if entries[i].Subresource == "scale" {
			entries[i].Manager, entries[i].Operation = "ci", metav1.ManagedFieldsOperationApply
		}
	}
	left.SetManagedFields(entries)
	s.Must(s.Client.Patch(s.T.Context(), left, client.MergeFrom(before)))
	if diff := cmp.Diff([]string{"ci/Apply[scale]"}, s.Owners(form.Path)); diff != "" {
		s.T.Fatalf("owners left (-want +got):\n%s", diff)
	}
}

// TestRenameOwnSubresource brings what a manager applied through a subresource into
// its main entry, which is what audit advises.
func TestRenameOwnSubresource(t *testing.T) {
	c := kit.ShapeClient(t)
	namespace := kit.NewNamespace(t, c)
	for kind, form := range kit.Scaled {
		t.Run(kind, func(t *testing.T) {
			s := kit.NewStage(t, c, namespace, kind, "")
			leftByMigration(s, form)
			ref := kit.RefTo(s.Object(`{}`).GroupVersionKind(), s.Namespace, s.Name)
			transfer, err := ownership.Rename(t.Context(), kit.NewApplier(t, c, "ci", apply.Policy{}), ref, ownership.From{Manager: "ci"})
			kit.Transferred(t, transfer, err)
			if diff := cmp.Diff([]string{"ci/Apply"}, s.Owners(form.Path)); diff != "" {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
		})
	}
}
