package neighbours

import (
	"testing"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
)

//nolint:misspell // behavior is the name of a field
const hpa = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: box}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: box}
  minReplicas: 1
  maxReplicas: 5
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: AverageValue, averageValue: 100m}}
  behavior: {scaleDown: {stabilizationWindowSeconds: 0}}
`

// TestAutoscalerScales has the real autoscaler follow the CPU that pods use, up and down, twice. Its replicas stay, also after
// they were those of the Devbox, and ours says whose they are.
func TestAutoscalerScales(t *testing.T) {
	t.Parallel()
	for _, policy := range []apply.Decision{apply.Relinquish, apply.Reject} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, policy, "Deployment box")
			w.devbox()
			w.uses(100)
			w.step("kubectl apply -f hpa.yaml", func() { w.must(w.kubectlCommand("apply", "-f", w.file("hpa.yaml", hpa))) })
			for range 2 {
				w.step("the pods use more", func() {
					w.uses(300)
					w.replicas(3)
					w.condition("box", v1alpha1.ConditionPowerApplied, policy == apply.Relinquish, ".spec.replicas", "kube-controller-manager")
					w.condition("box", v1alpha1.ConditionReady, policy == apply.Relinquish)
				})
				w.step("the pods use less", func() {
					w.uses(100)
					w.replicas(1)
					w.condition("box", v1alpha1.ConditionPowerApplied, true)
					w.condition("box", v1alpha1.ConditionReady, true)
				})
			}
			w.finish()
		})
	}
}

// TestAutoscalerScalesForced: where ours forces the replicas, it does so a few times, names the autoscaler, and leaves them to
// it from then on, up and down.
func TestAutoscalerScalesForced(t *testing.T) {
	t.Parallel()
	w := newFightingWorld(t)
	w.devbox()
	w.uses(300)
	w.must(w.kubectlCommand("apply", "-f", w.file("hpa.yaml", hpa)))
	w.condition("box", "Contended", true, ".spec.replicas", "kube-controller-manager")
	w.replicas(3)
	w.condition("box", v1alpha1.ConditionPowerApplied, false, "kube-controller-manager")
	before := len(w.Writes.About("deployments/box"))
	w.uses(100)
	w.replicas(1)
	w.uses(500)
	w.replicas(5)
	w.condition("box", v1alpha1.ConditionPowerApplied, false, "kube-controller-manager")
	w.condition("box", "Contended", true, ".spec.replicas", "kube-controller-manager")
	const most = 2 * 3 // of each of the autoscaler's moves: a try that is not forced, that of the trial, and one for what it read before
	if sent := w.Writes.About("deployments/box")[before:]; len(sent) > most {
		t.Errorf("ours wrote %d times though it had given way: %q", len(sent), sent)
	}
}
