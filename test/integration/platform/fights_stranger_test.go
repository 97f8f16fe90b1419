package platform

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/apply/contention"
	"coapply.dev/apply/ownership"
	"coapply.dev/test/kit"
)

// TestStrangerUnderOurName has somebody take the replicas under the name of a manager
// of ours: what is told is that, and not that two of ours fight.
func TestStrangerUnderOurName(t *testing.T) {
	t.Parallel()
	p := startFightsIn(t, kit.NewNamespace(t, kit.NewClient(t, kit.Cluster(t).Config())),
		contention.Config{PerMinute: 6, CoolDown: 5 * time.Minute, Trial: 10 * time.Minute})
	p.Create(t, "box")
	const name = "coapply-devbox-network" // applies nothing to a Deployment
	says := []string{" writes in a minute to Deployment " + p.Namespace + "/box under the name " + name + ", of .spec.replicas, ",
		"were not sent by this process", "somebody uses its name"}
	kit.WaitFor(t, "it is told", func() string { // the stranger goes on until then: a fight that has ended is Calm
		if err := p.Client.Apply(t.Context(), kit.Replicas("box", p.Namespace, 3), client.FieldOwner(name), client.ForceOwnership); err != nil {
			return err.Error()
		}
		wake(t, p, "box")
		return unlessContended(t, p, "box", metav1.ConditionTrue, append(says, "coapply-devbox-power does not force it until the other stops")...)
	})
	waitForEvent(t, p, "Deployment", "box", contention.ReasonFight, append(says, "the audit log of the API server", "config/admission")...)
	waitForEvent(t, p, "Deployment", "box", contention.ReasonStranger, says...)
	if c := contended(t, p, "box"); c != nil {
		t.Log(c.Message)
	}
}

// TestImpostorAlone has another process write values as a manager of ours: no field moves,
// and no manager answers. Managed fields that a person moves to it are no such writes.
func TestImpostorAlone(t *testing.T) {
	t.Parallel()
	p := startFightsIn(t, kit.NewNamespace(t, kit.NewClient(t, kit.Cluster(t).Config())), contention.Config{})
	const name = "coapply-devbox-workload"
	for _, box := range []string{"moved", "posed"} {
		p.Create(t, box)
		waitForPhase(t, p, box, v1alpha1.PhaseRunning)
	}
	person := kit.NewApplier(t, p.Client, name, apply.Policy{})
	for i := range 5 {
		note := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/note-%d":"x"}}}`, i))
		if err := p.Client.Patch(t.Context(), p.Get(t, "moved", &appsv1.Deployment{}), note, client.FieldOwner("person")); err != nil {
			t.Fatal(err)
		}
		moves, err := ownership.Migrate(t.Context(), person, apply.ObjectRef{
			GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"), NamespacedName: types.NamespacedName{Namespace: p.Namespace, Name: "moved"}}, ownership.From{Manager: "person"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := moves.Do(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 30 {
		live := p.Get(t, "posed", &appsv1.Deployment{}).(*appsv1.Deployment)
		posed, err := appsv1ac.ExtractDeployment(live, name)
		if err != nil {
			t.Fatal(err)
		}
		posed.Spec.Template.Spec.Containers[0].WithImage(fmt.Sprint("registry.example.com/other:", i%2))
		if err := p.Client.Apply(t.Context(), posed, client.FieldOwner(name), client.ForceOwnership); err != nil {
			t.Fatal(err)
		}
		time.Sleep(150 * time.Millisecond) // managed fields tell a write or two a second apart
	}
	says := []string{" writes in a minute to Deployment " + p.Namespace + "/posed under the name " + name + ", of values alone, ",
		"were not sent by this process", "somebody uses its name"}
	waitForContended(t, p, "posed", metav1.ConditionTrue, append(says, "UnknownWriter: ")...)
	waitForEvent(t, p, "Deployment", "posed", contention.ReasonStranger, append(says, "the audit log of the API server", "config/admission")...)
	waitForEvent(t, p, "Devbox", "posed", contention.ReasonStranger, says...)
	if c := contended(t, p, "moved"); c != nil {
		t.Errorf("a person moved managed fields, and is told as an impostor: %v", c)
	}
	wantMetrics(t, p, `
		coapply_fights_total{kind="Deployment.apps",manager="coapply-devbox-workload",other="",reason="UnknownWriter"} 1
		coapply_fights_active{reason="OwnershipFight"} 0
		coapply_fights_active{reason="ReconcileLoop"} 0
		coapply_fights_active{reason="UnknownWriter"} 1
	`)
}
