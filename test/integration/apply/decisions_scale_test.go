package apply

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv1ac "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// scaleApply has another manager apply through the scale.
func scaleApply(s *kit.Stage, manager string) {
	s.T.Helper()
	s.Must(s.Client.SubResource("scale").Apply(s.T.Context(), client.ApplyConfigurationFromUnstructured(s.Object(`{}`)),
		&client.SubResourceApplyOptions{SubResourceBody: scaleTo(s, 3)}, client.FieldOwner(manager), client.ForceOwnership))
}

func scaleTo(s *kit.Stage, n int32) *autoscalingv1ac.ScaleApplyConfiguration {
	return autoscalingv1ac.Scale().WithName(s.Name).WithNamespace(s.Namespace).
		WithSpec(autoscalingv1ac.ScaleSpec().WithReplicas(n))
}

// scaleIntent wants two replicas, through the scale.
func scaleIntent(s *kit.Stage) apply.Intent {
	return apply.Intent{
		Config: s.Config(`{}`), Subresource: "scale",
		Body: autoscalingv1ac.Scale().WithSpec(autoscalingv1ac.ScaleSpec().WithReplicas(2)),
	}
}

// throughScale are owners who wrote the field through the scale.
var throughScale = map[string]otherOwner{
	"updater through the scale": {
		reason: "kubectl scale and the HPA write so",
		write:  func(s *kit.Stage, _ string) { s.Scale("other") },
		// The server stamps no time when it takes a field out of the scale.
		names: []string{"other/Update[scale]"}, untimed: []string{"other/Update[scale]"}, before: []string{"other/Update[scale]"},
	},
	"applier through the scale": {
		reason: "by Server-Side Apply; that of a custom resource can only confirm a value",
		write: func(s *kit.Stage, _ string) {
			s.Scale("base")
			scaleApply(s, "other")
		},
		names:   []string{"base/Update[scale]", "other/Apply[scale]"},
		untimed: []string{"base/Update[scale]", "other/Apply[scale]"},
		before:  []string{"base/Update[scale]", "other/Apply[scale]"},
	},
	"both ways": {
		reason: "one owner of the object, one through the scale",
		write: func(s *kit.Stage, theirs string) {
			s.Apply("other", theirs)
			scaleApply(s, "second")
		},
		names: []string{"other/Apply", "second/Apply[scale]"}, untimed: []string{"second/Apply[scale]"},
		before: []string{"other/Apply", "second/Apply[scale]"},
	},
}

func TestDecisionsOnOwnersThroughSubresources(t *testing.T) {
	c := kit.ShapeClient(t)
	namespace := kit.NewNamespace(t, c)
	for kind, form := range kit.Scaled {
		for whose, other := range throughScale {
			for _, decision := range kit.AllDecisions {
				t.Run(kind+"/"+whose+"/"+decision.String(), func(t *testing.T) {
					runDecision(t, kit.NewStage(t, c, namespace, kind, ""), form, other, decision)
				})
			}
		}
	}
	throughStatus := otherOwner{
		reason: "the status of a Deployment takes annotations as well",
		write: func(s *kit.Stage, theirs string) {
			status := *s
			status.Subresource = "status"
			status.Update("other", theirs)
		},
		names: []string{"other/Update[status]"}, before: []string{"other/Update[status]"},
	}
	for _, decision := range kit.AllDecisions {
		t.Run("annotation/updater through the status/"+decision.String(), func(t *testing.T) {
			runDecision(t, kit.NewStage(t, c, namespace, "Deployment", ""), kit.BuiltinShapes["annotation"], throughStatus, decision)
		})
	}
}

// TestDecisionsThroughTheScale has us write through the scale. The scale names the
// field its own way, and the server shows no managed fields of it: what the conflict
// says of its owner is what the server's message says.
func TestDecisionsThroughTheScale(t *testing.T) {
	c := kit.ShapeClient(t)
	namespace := kit.NewNamespace(t, c)
	owners := maps.Clone(otherOwners)
	maps.Copy(owners, throughScale)
	made := []string{"before-first-apply/Update[scale]"} // by the server, of the scale alone
	owners["nobody"] = otherOwner{reason: owners["nobody"].reason, write: owners["nobody"].write, names: made}
	for kind, form := range kit.Scaled {
		for whose, other := range owners {
			for _, decision := range kit.AllDecisions {
				t.Run(kind+"/"+whose+"/"+decision.String(), func(t *testing.T) {
					t.Parallel()
					s := kit.NewStage(t, c, namespace, kind, "")
					other.write(s, form.Theirs)
					outcome, err := kit.NewApplier(t, c, "us", opposite(".spec.replicas", decision)).Apply(t.Context(), scaleIntent(s))
					if kind == "Shape" && (whose == "nobody" || decision == apply.Force) {
						checkScaleRefused(t, s, err)
						return
					}
					if errors.Is(err, apply.ErrConflict) != (decision == apply.Reject) || decision != apply.Reject && err != nil {
						t.Fatal(err)
					}
					checkScale(t, s, form, other, decision, outcome)
				})
			}
		}
	}
}

// checkScaleRefused is for what kube-apiserver 1.36 and 1.37 cannot do: Server-Side Apply
// through the scale of a custom resource that changes the value, or that has to make
// up an owner. It answers 500, with "convert CR to an invalid group/version".
func checkScaleRefused(t *testing.T, s *kit.Stage, err error) {
	t.Helper()
	if !errors.Is(err, apply.ErrRefused) {
		t.Errorf("got %v, want ErrRefused", err)
	}
	if got := s.Value(".spec.size"); got != int64(3) {
		t.Errorf("the size is %v, want 3", got)
	}
}

func checkScale(t *testing.T, s *kit.Stage, form kit.Shape, other otherOwner, decision apply.Decision, outcome apply.Outcome) {
	t.Helper()
	var want []conflictRow
	for _, manager := range other.names {
		row := conflictRow{
			Manager: manager, Path: ".spec.replicas", ServerPath: ".spec.replicas",
			Ours: form.Want, Theirs: form.Have, Decision: decision,
		}
		if strings.Contains(manager, "/Update") {
			row.APIVersion = "autoscaling/v1"
		}
		want = append(want, row)
	}
	if diff := cmp.Diff(want, conflictRows(outcome.Conflicts)); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
	checkOutcome(t, outcome, decision)

	const us = "us/Apply[scale]"
	value, holders := form.Have, slices.Clone(other.names)
	switch decision {
	case apply.Reject:
		holders = slices.Clone(other.before)
	case apply.Force:
		value, holders = form.Want, []string{us}
	case apply.Share:
		holders = append(holders, us)
	}
	if got := s.Value(form.Path); got != value {
		t.Errorf("%s is %v, want %v", form.Path, got, value)
	}
	if got := s.Owners(form.Path); !slices.Equal(got, holders) {
		t.Errorf("it is owned by %q, want %q", got, holders)
	}
}
