package integration

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/internal/controller/contention"
)

// TestStrangerUnderOurName has somebody take the replicas under the name of a manager
// of ours: what is told is that, and not that two of ours fight.
func TestStrangerUnderOurName(t *testing.T) {
	t.Parallel()
	p := startFightsIn(t, newNamespace(t, newClient(t, cluster(t).Config())),
		contention.Config{PerMinute: 6, CoolDown: time.Minute, Trial: 2 * time.Minute})
	p.create(t, "box")
	const name = "coapply-devbox-network" // applies nothing to a Deployment
	waitFor(t, "it is told", func() string {
		if err := p.client.Apply(t.Context(), replicas("box", p.namespace, 3), client.FieldOwner(name), client.ForceOwnership); err != nil {
			return err.Error()
		}
		p.wake(t, "box")
		if c := p.contended(t, "box"); c == nil || c.Status != metav1.ConditionTrue {
			return "not yet"
		}
		return ""
	})
	says := []string{" writes in a minute to Deployment " + p.namespace + "/box under the name " + name + ", of .spec.replicas, ",
		"were not sent by this process", "somebody uses its name"}
	p.waitForContended(t, "box", metav1.ConditionTrue, says...)
	p.waitForEvent(t, "Deployment", "box", contention.ReasonFight, append(says, "the audit log of the API server", "config/admission")...)
	if c := p.contended(t, "box"); c != nil {
		t.Log(c.Message)
	}
}
