package platform

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// waitForReason waits until a condition of a Devbox has a reason and a message that
// contains a text, and gives it.
func waitForReason(t *testing.T, p *kit.Platform, name, conditionType, reason, says string) *metav1.Condition {
	t.Helper()
	var box v1alpha1.Devbox
	var condition *metav1.Condition
	kit.WaitFor(t, conditionType+" is "+reason, func() string {
		p.Get(t, name, &box)
		condition = meta.FindStatusCondition(box.Status.Conditions, conditionType)
		if condition == nil || condition.Reason != reason || !strings.Contains(condition.Message, says) ||
			condition.ObservedGeneration != box.Generation {
			return condition.String()
		}
		return ""
	})
	return condition
}

// wayOut is the command that a condition names.
var wayOut = regexp.MustCompile(`kubectl fieldowners migrate [^;]*`)

// typed runs a command line of kubectl as a person would, with the plugin.
func typed(t *testing.T, line string) (stdout string) {
	t.Helper()
	prepared := kit.KubectlCommand(t, kit.Cluster(t).Config())
	command := exec.CommandContext(t.Context(), "sh", "-c", line)
	command.Dir = t.TempDir() // for what undoes a migrate
	command.Env = append(slices.Clone(prepared.Env), "PATH="+filepath.Dir(prepared.Path)+":"+pathOf(prepared.Env))
	stdout, stderr, code := kit.OutputOf(t, command)
	if code > 1 || code == 1 && stderr != "" { // 1 without a word says that audit found something
		t.Fatalf("%s: exit code %d\n%s%s", line, code, stdout, stderr)
	}
	return stdout
}

func pathOf(env []string) (path string) {
	for _, variable := range env {
		if value, ok := strings.CutPrefix(variable, "PATH="); ok {
			path = value
		}
	}
	return path
}

// TestLeftoverCoOwner: a person changes a field and sets it back. The person then co-owns the
// field: audit lists it, and the next change by the reconciler conflicts. The condition names
// the command that lets the reconciler set the field.
func TestLeftoverCoOwner(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Reject)
	in := " --namespace " + p.Namespace
	for name, c := range map[string]struct {
		condition, path, other string
		away, back, after      func(box string)
		landed                 func(*appsv1.Deployment) bool
	}{
		"scaled": {
			v1alpha1.ConditionPowerApplied, ".spec.replicas", "kubectl/Update[scale]",
			func(box string) { typed(t, "kubectl scale --replicas=2 deployment/"+box+in) },
			func(box string) { typed(t, "kubectl scale --replicas=1 deployment/"+box+in) },
			func(box string) { set(t, p, box, v1alpha1.DevboxStopped) },
			func(d *appsv1.Deployment) bool { return *d.Spec.Replicas == 0 },
		},
		"undone": {
			v1alpha1.ConditionWorkloadApplied, `.spec.template.spec.containers[name="devbox"].image`, "kubectl/Update",
			func(box string) { typed(t, "kubectl rollout undo deployment/"+box+in) },
			func(box string) {
				p.Patch(t, &v1alpha1.Devbox{}, box, `{"spec":{"image":"registry.example.com/dev:1"}}`)
			},
			func(box string) {
				p.Patch(t, &v1alpha1.Devbox{}, box, `{"spec":{"image":"registry.example.com/dev:3"}}`)
			},
			func(d *appsv1.Deployment) bool {
				return d.Spec.Template.Spec.Containers[0].Image == "registry.example.com/dev:3"
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p.Create(t, name)
			waitForPhase(t, p, name, v1alpha1.PhaseRunning)
			p.Patch(t, &v1alpha1.Devbox{}, name, `{"spec":{"image":"registry.example.com/dev:2"}}`)
			var deployment appsv1.Deployment
			kit.WaitFor(t, "the second image", func() string {
				p.Get(t, name, &deployment)
				if image := deployment.Spec.Template.Spec.Containers[0].Image; image != "registry.example.com/dev:2" ||
					deployment.Annotations["deployment.kubernetes.io/revision"] != "2" {
					return fmt.Sprint(image, deployment.Annotations)
				}
				return ""
			})
			waitForReason(t, p, name, c.condition, "Applied", "everything is applied")
			c.away(name)
			waitForReason(t, p, name, c.condition, reconciler.ReasonOwnershipConflict, c.other)
			c.back(name)
			waitForReason(t, p, name, c.condition, "Applied", "everything is applied")
			audit := typed(t, "kubectl fieldowners audit deployments -o json"+in)
			if !strings.Contains(audit, "shared-by-update") {
				t.Errorf("audit does not list it:\n%s", audit)
			}
			c.after(name)
			condition := waitForReason(t, p, name, c.condition, reconciler.ReasonOwnershipConflict, c.path)
			typed(t, wayOut.FindString(condition.Message))
			kit.WaitFor(t, "what was in the way", func() string {
				if p.Get(t, name, &deployment); !c.landed(&deployment) {
					return fmt.Sprint(p.Get(t, name, &v1alpha1.Devbox{}).(*v1alpha1.Devbox).Status.Conditions)
				}
				return ""
			})
			waitForReason(t, p, name, c.condition, "Applied", "everything is applied")
		})
	}
}

// TestRelinquishedIsNamed: under Relinquish the condition says whose the replicas are for
// as long as they are, also when nothing is sent any more.
func TestRelinquishedIsNamed(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Relinquish)
	p.Create(t, "box")
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	kubectl(t, "scale", "--namespace", p.Namespace, "deployment/box", "--replicas=2")
	says := ".spec.replicas of Deployment " + p.Namespace + "/box is left to kubectl/Update[scale]"
	waitForReason(t, p, "box", v1alpha1.ConditionPowerApplied, reconciler.ReasonLeftToOthers, says)
	p.Patch(t, &v1alpha1.Devbox{}, "box", `{"spec":{"network":{"port":8080}}}`)
	waitForReason(t, p, "box", v1alpha1.ConditionPowerApplied, reconciler.ReasonLeftToOthers, says)
}

// TestWayOutOfAConflict: the command that the condition names lets the reconciler set what
// a person took.
func TestWayOutOfAConflict(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Reject)
	p.Create(t, "box")
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	typed(t, "kubectl scale --replicas=2 deployment/box --namespace "+p.Namespace)
	condition := waitForReason(t, p, "box", v1alpha1.ConditionPowerApplied, reconciler.ReasonOwnershipConflict, "owned by kubectl/Update[scale] with value 2")
	ready := waitForReason(t, p, "box", v1alpha1.ConditionReady, reconciler.ReasonOwnershipConflict, condition.Message)
	typed(t, wayOut.FindString(ready.Message))
	waitForReason(t, p, "box", v1alpha1.ConditionPowerApplied, "Applied", "everything is applied")
	if n := replicas(t, p, "box"); n != 1 {
		t.Errorf("%d replicas, want the Devbox's 1", n)
	}
}
