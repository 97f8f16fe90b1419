package platform

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/breaker"
	"coapply.dev/apply/ownership"
	"coapply.dev/apply/reconciler"
	"coapply.dev/fieldowners"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// TestForgedDepth has an entry that nobody can read beside an owner of our field: it
// is named, and conflicts are settled as the policy says.
func TestForgedDepth(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	for _, decision := range kit.AllDecisions {
		t.Run(decision.String(), func(t *testing.T) {
			name := strings.ToLower(decision.String())
			config := kit.Deployment(name, namespace, "v1")
			config.Spec.WithReplicas(1)
			us := kit.NewApplier(t, c, "us", apply.OnConflict(decision))
			if _, err := us.Apply(t.Context(), apply.Intent{Config: config}); err != nil {
				t.Fatal(err)
			}
			if err := c.Apply(t.Context(), kit.Replicas(name, namespace, 3), client.FieldOwner("them"), client.ForceOwnership); err != nil {
				t.Fatal(err)
			}
			kit.ForgeDeepEntry(t, c, kit.DeploymentRef(namespace, name))
			outcome, err := us.Apply(t.Context(), apply.Intent{Config: config})
			if decision == apply.Reject != errors.Is(err, apply.ErrConflict) || decision != apply.Reject && err != nil {
				t.Fatal(err)
			}
			if len(outcome.Conflicts) != 1 || outcome.Conflicts[0].Manager.Name != "them" || outcome.Conflicts[0].Decision != decision {
				t.Errorf("conflicts %v", outcome.Conflicts)
			}
			if len(outcome.Unread) != 1 || outcome.Unread[0].Manager != "forger" {
				t.Errorf("unread %v, want that of the forger", outcome.Unread)
			}
			owners := map[apply.Decision][]string{
				apply.Reject: {"them/Apply"}, apply.Force: {"us/Apply"}, apply.Relinquish: {"them/Apply"}, apply.Share: {"them/Apply", "us/Apply"},
			}
			if diff := cmp.Diff(owners[decision], readableOwners(t, c, kit.DeploymentRef(namespace, name), ".spec.replicas")); diff != "" {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
			if _, err := us.Plan(t.Context(), apply.Intent{Config: config}); err != nil {
				t.Errorf("planned: %v", err)
			}
		})
	}
}

// TestForgedDepthLetsGo gives up our fields beside such an entry.
func TestForgedDepthLetsGo(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	us := kit.NewApplier(t, c, "us", apply.Policy{})
	ours := corev1ac.ConfigMap("a", namespace).WithData(map[string]string{"ours": "1"})
	if _, err := us.Apply(t.Context(), apply.Intent{Config: ours}); err != nil {
		t.Fatal(err)
	}
	ref := kit.RefTo(corev1.SchemeGroupVersion.WithKind("ConfigMap"), namespace, "a")
	if err := c.Apply(t.Context(), corev1ac.ConfigMap("a", namespace).WithData(map[string]string{"theirs": "1"}), client.FieldOwner("them")); err != nil {
		t.Fatal(err)
	}
	kit.ForgeDeepEntry(t, c, ref)
	if _, err := ownership.Release(t.Context(), us, ref); err != nil {
		t.Error(err)
	}
	if left := readableOwners(t, c, ref, ".data.ours"); left != nil {
		t.Errorf("still owned by %v", left)
	}
}

func readableOwners(t *testing.T, c client.Client, ref apply.ObjectRef, path string) (owners []string) {
	t.Helper()
	ownership, unread := fieldowners.ParseReadable(kit.LiveAt(t, c, ref).GetManagedFields())
	if len(unread) != 1 {
		t.Errorf("unread: %v", unread)
	}
	for _, owner := range ownership.OwnersOf(fieldowners.MustParsePath(path)) {
		owners = append(owners, owner.String())
	}
	return owners
}

// TestForgedDepthBesidePower has somebody scale a Devbox that is Running, beside such an
// entry: power takes its field back, and an event names the forger.
func TestForgedDepthBesidePower(t *testing.T) {
	t.Parallel()
	p, _ := startFights(t, breaker.Config{})
	p.Create(t, "box")
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	kit.ForgeDeepEntry(t, p.Client, kit.DeploymentRef(p.Namespace, "box"))
	if err := p.Client.Apply(t.Context(), kit.Replicas("box", p.Namespace, 3), client.FieldOwner("person"), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	waitForReplicas(t, p, "box", 1)
	waitForEvent(t, p, "Devbox", "box", reconciler.ReasonManagedFieldsUnreadable, `manager "forger"`, "Deployment "+p.Namespace+"/box: ")
}
