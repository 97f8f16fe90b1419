package neighbours

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

const devbox = `
apiVersion: platform.coapply.dev/v1alpha1
kind: Devbox
metadata:
  name: box
spec:
  image: registry.example.com/dev:1
`

// TestKubectl has a person do to a Devbox and its Deployment what people do with kubectl, where replicas that somebody
// else set are left to them.
func TestKubectl(t *testing.T) {
	t.Parallel()
	w := newWorld(t, apply.Relinquish)
	w.watch("platform.coapply.dev/v1alpha1", "Devbox", "box")
	w.watch("apps/v1", "Deployment", "box")
	manifest := w.file("devbox.yaml", devbox)

	w.step("kubectl apply --server-side -f devbox.yaml", func() { w.must(w.kubectlCommand("apply", "--server-side", "-f", manifest)) })
	w.condition("box", v1alpha1.ConditionPowerApplied, true)
	w.kubectl("annotate", "deployment", "box", "example.com/note=1")
	w.kubectl("label", "deployment", "box", "team=a")
	w.kubectl("rollout", "restart", "deployment/box")
	w.kubectl("set", "env", "deployment/box", "LEVEL=debug")
	w.kubectl("scale", "deployment", "box", "--replicas", "3")
	w.replicas(3)
	w.kubectl("scale", "deployment", "box", "--replicas", "1")
	w.replicas(1)
	w.kubectl("edit", "devbox", "box")
	w.image("registry.example.com/dev:edited")
	w.step("kubectl apply --server-side --force-conflicts -f devbox.yaml", func() {
		w.must(w.kubectlCommand("apply", "--server-side", "--force-conflicts", "-f", manifest))
	})
	w.image("registry.example.com/dev:1")
	w.step("kubectl apply -f devbox.yaml", func() { w.must(w.kubectlCommand("apply", "-f", manifest)) })
	w.kubectl("set", "image", "deployment/box", "*=registry.example.com/dev:9")
	w.condition("box", v1alpha1.ConditionWorkloadApplied, false, ".image", "kubectl-set") // rejected: theirs stays
	w.image("registry.example.com/dev:9")
	w.finish()

	w.must(w.kubectlCommand("delete", "-f", manifest, "--timeout", "60s"))
	w.settle(0)
	for _, object := range w.watched {
		if left := w.owners(object); left != nil {
			t.Errorf("%s %s is left, with %v", object.GetKind(), object.GetName(), left)
		}
	}
}

// TestKubectlScalesAndStops: replicas that a person scaled away and back do not keep a Devbox from being stopped.
func TestKubectlScalesAndStops(t *testing.T) {
	t.Parallel()
	for _, policy := range []apply.Decision{apply.Reject, apply.Force} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, policy)
			w.watch("apps/v1", "Deployment", "box")
			w.step("kubectl apply --server-side -f devbox.yaml", func() {
				w.must(w.kubectlCommand("apply", "--server-side", "-f", w.file("devbox.yaml", devbox)))
			})
			w.condition("box", v1alpha1.ConditionPowerApplied, true)
			w.kubectl("scale", "deployment", "box", "--replicas", "3")
			if policy == apply.Reject {
				w.replicas(3)
				w.condition("box", v1alpha1.ConditionPowerApplied, false, ".spec.replicas", "kubectl")
				w.kubectl("scale", "deployment", "box", "--replicas", "1")
			}
			w.replicas(1)
			w.kubectl("patch", "devbox", "box", "--type", "merge", "-p", `{"spec":{"state":"Stopped"}}`)
			if policy == apply.Reject {
				w.condition("box", v1alpha1.ConditionPowerApplied, false, ".spec.replicas", "kubectl") // its value is kubectl's as well
			} else {
				w.replicas(0)
			}
			w.finish()
		})
	}
}

// TestAutoscaler has the real autoscaler raise a Devbox's replicas to its minimum.
func TestAutoscaler(t *testing.T) {
	t.Parallel()
	for _, policy := range []apply.Decision{apply.Relinquish, apply.Reject} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, policy)
			w.watch("apps/v1", "Deployment", "box")
			w.step("kubectl apply --server-side -f devbox.yaml", func() {
				w.must(w.kubectlCommand("apply", "--server-side", "-f", w.file("devbox.yaml", devbox)))
			})
			w.condition("box", v1alpha1.ConditionPowerApplied, true)
			w.step("kubectl autoscale deployment box --min 2 --max 5", func() {
				w.must(w.kubectlCommand("autoscale", "deployment", "box", "--min", "2", "--max", "5"))
				w.replicas(2)
			})
			w.condition("box", v1alpha1.ConditionPowerApplied, policy == apply.Relinquish)
			w.step("kubectl delete hpa box", func() { w.must(w.kubectlCommand("delete", "hpa", "box")) })
			w.finish()
		})
	}
}

// replicas waits until the Deployment has so many, in its spec.
func (w *world) replicas(want int32) {
	w.t.Helper()
	kit.WaitFor(w.t, "the replicas", func() string {
		if n := *w.deployment().Spec.Replicas; n != want {
			return fmt.Sprintf("%d, want %d", n, want)
		}
		return ""
	})
}

// image waits until the Deployment's container has an image.
func (w *world) image(want string) {
	w.t.Helper()
	kit.WaitFor(w.t, "the image", func() string {
		if image := w.deployment().Spec.Template.Spec.Containers[0].Image; image != want {
			return fmt.Sprintf("%s, want %s", image, want)
		}
		return ""
	})
}

func (w *world) deployment() *appsv1.Deployment {
	w.t.Helper()
	return w.Get(w.t, "box", &appsv1.Deployment{}).(*appsv1.Deployment)
}
