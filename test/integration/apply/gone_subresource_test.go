package apply

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv1ac "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// workload makes a Deployment whose replicas and status "them" applies, and makes
// it anew alike.
func (g *gone) workload() {
	g.recreate = func() client.Object {
		config := kit.Deployment(g.name, g.namespace, "v1")
		config.Spec.WithReplicas(5)
		g.applied(config, &appsv1.Deployment{}, "them")
		observed := appsv1ac.Deployment(g.name, g.namespace).WithStatus(appsv1ac.DeploymentStatus().WithObservedGeneration(1).WithReplicas(5))
		g.must(g.c.Status().Apply(g.ctx(), observed, client.FieldOwner("them")))
		live := &appsv1.Deployment{ObjectMeta: g.meta()}
		g.must(g.c.Get(g.ctx(), client.ObjectKeyFromObject(live), live))
		return live
	}
	g.object = g.recreate()
}

func (g *gone) statusIntent() apply.Intent {
	status := appsv1ac.DeploymentStatus().WithObservedGeneration(2).WithReplicas(3).WithUpdatedReplicas(3)
	return apply.Intent{Config: appsv1ac.Deployment(g.name, g.namespace).WithStatus(status), Subresource: "status"}
}

func (g *gone) scaleIntent() apply.Intent {
	scale := autoscalingv1ac.Scale().WithSpec(autoscalingv1ac.ScaleSpec().WithReplicas(3))
	return apply.Intent{Config: appsv1ac.Deployment(g.name, g.namespace), Subresource: "scale", Body: scale}
}

// TestGoneDuringSubresource: there is nothing to create through a subresource, so
// nothing may be, however the intent says what it means.
func TestGoneDuringSubresource(t *testing.T) {
	mismatch, absent := []string{"UIDMismatch"}, []string{"Absent"}
	var cases []goneCase
	for _, subresource := range []struct {
		name   string
		intent func(*gone) apply.Intent
	}{{"status", (*gone).statusIntent}, {"scale", (*gone).scaleIntent}} {
		for _, row := range []struct {
			decision    apply.Decision
			requests    int
			undisturbed string
		}{{apply.Reject, 2, "Conflict"}, {apply.Force, 4, ""}, {apply.Relinquish, 3, ""}, {apply.Share, 3, ""}} {
			name := subresource.name + ", " + row.decision.String()
			prepare := func(mean func(*gone, *apply.Intent)) func(*gone) goneCall {
				return func(g *gone) goneCall {
					g.workload()
					intent := subresource.intent(g)
					mean(g, &intent)
					applier := kit.NewApplier(g, g.c, "us", apply.OnConflict(row.decision))
					return func(ctx context.Context) (string, error) { return worded(applier.Apply(ctx, intent)) }
				}
			}
			reads := row.requests + 1
			if gives := row.decision == apply.Relinquish || row.decision == apply.Share; gives && subresource.name == "status" {
				reads = 2 // the object read shows what is conceded
			}
			cases = append(cases, goneCase{
				name: name + ", by name", requests: row.requests, undisturbed: row.undisturbed,
				prepare: prepare(func(*gone, *apply.Intent) {}),
				byName:  true, deleted: absent,
			}, goneCase{
				name: name + ", by uid", requests: row.requests, undisturbed: row.undisturbed,
				prepare: prepare(func(g *gone, intent *apply.Intent) {
					intent.Config = intent.Config.(*appsv1ac.DeploymentApplyConfiguration).WithUID(g.object.GetUID())
				}),
				deleted: mismatch, recreated: mismatch,
			}, goneCase{
				name: name + ", must exist", requests: reads, undisturbed: row.undisturbed,
				prepare: prepare(func(_ *gone, intent *apply.Intent) { intent.MustExist = true }),
				picks:   1, deleted: absent, recreated: mismatch,
			})
		}
	}
	runGone(t, cases)
}
