package neighbours

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
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

// TestKubectlScalesAndStops: replicas that a person scaled away and back do not keep a Devbox from being stopped, once the
// command that its condition names has run, where they were not taken back at once.
func TestKubectlScalesAndStops(t *testing.T) {
	t.Parallel()
	for _, policy := range []apply.Decision{apply.Reject, apply.Force} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, policy)
			w.watch("apps/v1", "Deployment", "box")
			w.devbox()
			w.kubectl("scale", "deployment", "box", "--replicas", "3")
			if policy == apply.Reject {
				w.replicas(3)
				w.condition("box", v1alpha1.ConditionPowerApplied, false, ".spec.replicas", "kubectl")
				w.kubectl("scale", "deployment", "box", "--replicas", "1")
				w.condition("box", v1alpha1.ConditionPowerApplied, true, reconciler.ReasonShared)
			}
			w.replicas(1)
			w.kubectl("patch", "devbox", "box", "--type", "merge", "-p", `{"spec":{"state":"Stopped"}}`)
			if policy == apply.Reject { // its value is kubectl's as well
				w.condition("box", v1alpha1.ConditionPowerApplied, false, ".spec.replicas", "kubectl")
				w.step("kubectl fieldowners migrate …, as the condition says", w.migrate)
			}
			w.replicas(0)
			w.condition("box", v1alpha1.ConditionPowerApplied, true)
			w.finish()
		})
	}
}

// migrate runs the command that the condition of the Devbox's replicas names.
func (w *world) migrate() {
	w.t.Helper()
	box := w.Get(w.t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox)
	message := meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionPowerApplied).Message
	named := strings.Fields(regexp.MustCompile(`kubectl fieldowners migrate [^;]*`).FindString(message))
	if len(named) == 0 {
		w.t.Fatalf("no command in %q", message)
	}
	command := kit.KubectlCommand(w.t, w.Config(), named[1:]...)
	command.Dir = w.t.TempDir() // for what undoes it
	w.must(command)
}

// TestForeignStatus has a person write into the status: what is ours is set right, and what is not is left.
func TestForeignStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, apply.Reject)
	w.watch("platform.coapply.dev/v1alpha1", "Devbox", "box")
	w.watch("apps/v1", "Deployment", "box")
	w.devbox()
	was := w.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox).Status
	w.kubectl("patch", "devbox", "box", "--subresource", "status", "--type", "merge", "-p", `{"status":{"contentID":"c-00000000-00000000"}}`)
	w.kubectl("patch", "deployment", "box", "--subresource", "status", "--type", "merge", "-p", `{"status":{"readyReplicas":0,"availableReplicas":0}}`)
	w.kubectl("patch", "devbox", "box", "--subresource", "status", "--type", "json", "-p", `[{"op":"remove","path":"/status/conditions"}]`)
	for _, kind := range []string{v1alpha1.ConditionWorkloadApplied, v1alpha1.ConditionPowerApplied, v1alpha1.ConditionNetworkApplied, v1alpha1.ConditionReady} {
		w.condition("box", kind, true)
	}
	if is := w.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox).Status; is.ContentID != was.ContentID {
		t.Errorf("the content is %q, and was %q", is.ContentID, was.ContentID)
	}
	w.finish()
}

// TestAutoscaler has the real autoscaler raise a Devbox's replicas to its minimum.
func TestAutoscaler(t *testing.T) {
	t.Parallel()
	for _, policy := range []apply.Decision{apply.Relinquish, apply.Reject} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, policy)
			w.watch("apps/v1", "Deployment", "box")
			w.devbox()
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

// TestAutoscalerForced: where ours forces the replicas the two fight; ours gives way, and the conditions name the autoscaler.
func TestAutoscalerForced(t *testing.T) {
	t.Parallel()
	w := newFightingWorld(t)
	w.devbox()
	w.must(w.kubectlCommand("autoscale", "deployment", "box", "--min", "2", "--max", "5"))
	w.condition("box", v1alpha1.ConditionContended, true, ".spec.replicas", "kube-controller-manager")
	w.replicas(2)
	w.condition("box", v1alpha1.ConditionPowerApplied, false, "kube-controller-manager")
}

// devbox makes one, as a person does, and waits until it is ready.
func (w *world) devbox() {
	w.t.Helper()
	w.step("kubectl apply --server-side -f devbox.yaml", func() {
		w.must(w.kubectlCommand("apply", "--server-side", "-f", w.file("devbox.yaml", devbox)))
		w.condition("box", v1alpha1.ConditionReady, true)
	})
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
