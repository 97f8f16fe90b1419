package integration

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// TestOwnScaleEntry applies where our own name owns the field through the scale: what
// it applied there is ours and comes into the main entry, whatever the policy; what it
// updated there is never given way to.
func TestOwnScaleEntry(t *testing.T) {
	c := shapeClient(t)
	namespace := newNamespace(t, c)
	for kind, form := range scaled {
		for _, decision := range allDecisions {
			t.Run(kind+"/applied/"+decision.String(), func(t *testing.T) {
				s := newStage(t, c, namespace, kind, "")
				s.leftByMigration(form)
				outcome, err := newApplier(t, c, "ci", apply.OnConflict(decision)).Apply(t.Context(), apply.Intent{Config: s.config(form.ours)})
				if err != nil || len(outcome.Conflicts) != 1 || !outcome.Conflicts[0].Own || outcome.Conflicts[0].Decision != apply.Force {
					t.Errorf("conflicts %v, %v; want one with an entry of our own", outcome.Conflicts, err)
				}
				if diff := cmp.Diff([]string{"ci/Apply"}, s.owners(form.path)); diff != "" || !cmp.Equal(s.value(form.path), form.want) {
					t.Errorf("%s is %v; owners (-want +got):\n%s", form.path, s.value(form.path), diff)
				}
			})
			t.Run(kind+"/updated/"+decision.String(), func(t *testing.T) {
				s := newStage(t, c, namespace, kind, "")
				s.must(c.Apply(t.Context(), s.config(form.ours), client.FieldOwner("ci"), client.ForceOwnership))
				s.scale("ci")
				_, err := newApplier(t, c, "ci", apply.OnConflict(decision)).Apply(t.Context(), apply.Intent{Config: s.config(form.ours)})
				if decision == apply.Force {
					s.must(err)
					return
				}
				const own = "owned by ci itself (by Update through scale) with 3"
				if !errors.Is(err, apply.ErrConflict) || !strings.Contains(err.Error(), own) ||
					!strings.HasSuffix(err.Error(), "--from ci --to ci` makes one owner of the two") {
					t.Errorf("got %v, want %q", err, own)
				}
				ref := refTo(s.object(`{}`).GroupVersionKind(), s.namespace, s.name)
				transfer, err := newApplier(t, c, "ci", apply.Policy{}).Migrate(t.Context(), ref, apply.From{Manager: "ci"})
				transferred(t, transfer, err)
				if _, err := newApplier(t, c, "ci", apply.Policy{}).Apply(t.Context(), apply.Intent{Config: s.config(form.ours)}); err != nil {
					t.Errorf("after what the message says: %v", err)
				}
			})
		}
	}
}
