package neighbours

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
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
	w := newWorld(t, apply.Relinquish, "Devbox box", "Deployment box")

	manifest := w.devbox()
	w.kubectl("annotate", "deployment", "box", "example.com/note=1")
	w.kubectl("label", "deployment", "box", "team=a")
	w.kubectl("rollout", "restart", "deployment/box")
	w.kubectl("set", "env", "deployment/box", "LEVEL=debug")
	w.scale("3", "kubectl/Update[scale]")
	w.scale("1", "coapply-devbox-power/Apply", "kubectl/Update[scale]")
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
			w := newWorld(t, policy, "Deployment box")
			w.devbox()
			if policy == apply.Reject {
				w.scale("3", "kubectl/Update[scale]")
				w.condition("box", v1alpha1.ConditionPowerApplied, false, ".spec.replicas", "kubectl")
				w.scale("1", "coapply-devbox-power/Apply", "kubectl/Update[scale]")
				w.condition("box", v1alpha1.ConditionPowerApplied, true)
			} else {
				w.scale("3", "coapply-devbox-power/Apply")
			}
			w.replicas(1)
			w.kubectl("patch", "devbox", "box", "--type", "merge", "-p", `{"spec":{"state":"Stopped"}}`)
			if policy == apply.Reject { // its value is kubectl's as well
				w.condition("box", v1alpha1.ConditionPowerApplied, false, ".spec.replicas", "kubectl")
				w.step("kubectl fieldowners migrate …, as the condition says", func() { w.migrate(w.wayOut()...) })
			}
			w.replicas(0)
			w.condition("box", v1alpha1.ConditionPowerApplied, true)
			w.finish()
		})
	}
}

// wayOut returns the arguments of the command that the condition of the Devbox's replicas names.
func (w *world) wayOut() []string {
	w.t.Helper()
	box := w.Get(w.t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox)
	message := meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionPowerApplied).Message
	named := strings.Fields(regexp.MustCompile(`kubectl fieldowners migrate [^;]*`).FindString(message))
	if len(named) == 0 {
		w.t.Fatalf("no command in %q", message)
	}
	return named[3:]
}

// migrate runs kubectl fieldowners migrate.
func (w *world) migrate(args ...string) {
	w.t.Helper()
	args = append([]string{"fieldowners", "migrate", "--yes", "--namespace", w.Namespace}, args...)
	command := kit.KubectlCommand(w.t, w.Config(), args...)
	command.Dir = w.t.TempDir() // for what undoes it
	w.must(command)
}

// TestForeignStatus has a person write into the status: what is ours is set right, and what is not is left.
func TestForeignStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, apply.Reject, "Devbox box", "Deployment box")
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

// TestAutoscaler has the real autoscaler raise a Devbox's replicas to its minimum. The Devbox can be stopped again when it is
// gone and ours has been made the owner of the replicas, which the autoscaler leaves behind.
func TestAutoscaler(t *testing.T) {
	t.Parallel()
	for _, policy := range []apply.Decision{apply.Relinquish, apply.Reject} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, policy, "Deployment box")
			w.devbox()
			w.step("kubectl autoscale deployment box --min 2 --max 5", func() {
				w.must(w.kubectlCommand("autoscale", "deployment", "box", "--min", "2", "--max", "5"))
				w.replicas(2)
			})
			left := policy == apply.Relinquish // which is True, and says whose they are
			w.condition("box", v1alpha1.ConditionPowerApplied, left, ".spec.replicas", "kube-controller-manager")
			w.kubectl("patch", "devbox", "box", "--type", "merge", "-p", `{"spec":{"state":"Stopped"}}`)
			w.condition("box", v1alpha1.ConditionPowerApplied, left, ".spec.replicas", "kube-controller-manager")
			w.condition("box", v1alpha1.ConditionReady, false) // there is a pod
			w.replicas(2)
			w.step("kubectl delete hpa box", func() { w.must(w.kubectlCommand("delete", "hpa", "box")) })
			w.step("kubectl fieldowners migrate deployment/box --from kube-controller-manager", func() {
				w.migrate("deployment.apps/box", "--from", "kube-controller-manager", "--to", "coapply-devbox-power", "--path", ".spec.replicas")
				w.condition("box", v1alpha1.ConditionReady, true)
			})
			w.replicas(0)
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
	w.condition("box", "Contended", true, ".spec.replicas", "kube-controller-manager")
	w.replicas(2)
	w.condition("box", v1alpha1.ConditionPowerApplied, false, "kube-controller-manager")
}

// devbox makes a Devbox as a person does, waits until it is ready, and returns the manifest's path.
func (w *world) devbox() (manifest string) {
	w.t.Helper()
	manifest = w.file("devbox.yaml", devbox)
	w.step("kubectl apply --server-side -f devbox.yaml", func() {
		w.must(w.kubectlCommand("apply", "--server-side", "-f", manifest))
		w.condition("box", v1alpha1.ConditionReady, true)
	})
	return manifest
}

// scale scales the Devbox's Deployment, and waits until the replicas have those owners.
func (w *world) scale(replicas string, owners ...string) {
	w.t.Helper()
	w.step("kubectl scale deployment box --replicas "+replicas, func() {
		w.must(w.kubectlCommand("scale", "deployment", "box", "--replicas", replicas))
		kit.WaitFor(w.t, "the owners of the replicas", func() string {
			return cmp.Diff(owners, kit.OwnersOf(w.t, w.Client, w.Namespace, "box", ".spec.replicas"))
		})
	})
}

// replicas waits until the Devbox's Deployment has so many, in its spec.
func (w *world) replicas(want int32) { w.t.Helper(); w.replicasOf("box", want) }

func (w *world) replicasOf(deployment string, want int32) {
	w.t.Helper()
	kit.WaitFor(w.t, "the replicas", func() string {
		if n := *w.Get(w.t, deployment, &appsv1.Deployment{}).(*appsv1.Deployment).Spec.Replicas; n != want {
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
