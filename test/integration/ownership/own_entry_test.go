package ownership

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/test/kit"
)

// TestOwnScaleEntry applies where our own name owns the field through the scale: what
// it applied there is ours and comes into the main entry, whatever the policy; what it
// updated there is never given way to.
func TestOwnScaleEntry(t *testing.T) {
	c := kit.ShapeClient(t)
	namespace := kit.NewNamespace(t, c)
	for kind, form := range kit.Scaled {
		for _, decision := range kit.AllDecisions {
			t.Run(kind+"/applied/"+decision.String(), func(t *testing.T) {
				s := kit.NewStage(t, c, namespace, kind, "")
				leftByMigration(s, form)
				outcome, err := kit.NewApplier(t, c, "ci", apply.OnConflict(decision)).Apply(t.Context(), apply.Intent{Config: s.Config(form.Ours)})
				if err != nil || len(outcome.Conflicts) != 1 || !outcome.Conflicts[0].Own || outcome.Conflicts[0].Decision != apply.Force {
					t.Errorf("conflicts %v, %v; want one with an entry of our own", outcome.Conflicts, err)
				}
				if diff := cmp.Diff([]string{"ci/Apply"}, s.Owners(form.Path)); diff != "" || !cmp.Equal(s.Value(form.Path), form.Want) {
					t.Errorf("%s is %v; owners (-want +got):\n%s", form.Path, s.Value(form.Path), diff)
				}
			})
			t.Run(kind+"/updated/"+decision.String(), func(t *testing.T) {
				s := kit.NewStage(t, c, namespace, kind, "")
				s.Must(c.Apply(t.Context(), s.Config(form.Ours), client.FieldOwner("ci"), client.ForceOwnership))
				s.Scale("ci")
				_, err := kit.NewApplier(t, c, "ci", apply.OnConflict(decision)).Apply(t.Context(), apply.Intent{Config: s.Config(form.Ours)})
				if decision == apply.Force {
					s.Must(err)
					return
				}
				const own = "owned by ci itself (by Update through scale) with value 3"
				if !errors.Is(err, apply.ErrConflict) || !strings.Contains(err.Error(), own) ||
					!strings.HasSuffix(err.Error(), "--from ci --to ci` merges the two owners into one") {
					t.Errorf("got %v, want %q", err, own)
				}
				ref := kit.RefTo(s.Object(`{}`).GroupVersionKind(), s.Namespace, s.Name)
				transfer, err := ownership.Migrate(t.Context(), kit.NewApplier(t, c, "ci", apply.Policy{}), ref, ownership.From{Manager: "ci"})
				kit.Transferred(t, transfer, err)
				if _, err := kit.NewApplier(t, c, "ci", apply.Policy{}).Apply(t.Context(), apply.Intent{Config: s.Config(form.Ours)}); err != nil {
					t.Errorf("after what the message says: %v", err)
				}
			})
		}
	}
}
