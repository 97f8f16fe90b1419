package platform

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// rewrites is admission as a registry mirror has it, of what is called so, and a policy
// that takes a key out of data.
var rewrites = []kit.Mutation{{
	Name:        "rewrites",
	Constraints: `{resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]}`,
	When:        "object.metadata.name == 'rewritten'",
	Patch:       "[JSONPatch{op: 'replace', path: '/spec/template/spec/containers/0/image', value: 'mirror.example.com/dev:1'}]",
}, {
	Name:        "takes-out",
	Constraints: `{resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps, secrets]}]}`,
	When:        "object.metadata.name == 'rewritten' && has(object.data) && 'gone' in object.data",
	Patch:       "[JSONPatch{op: 'remove', path: '/data/gone'}]",
}}

// TestRewrittenByAdmission: admission rewrites the image of a Devbox's Deployment. The
// condition does not say that all is as wanted, and nobody writes without a pause.
func TestRewrittenByAdmission(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	kit.NeedPolicies(t, p.Client, rewrites...)
	kit.WaitFor(t, "the policies are in force", func() string {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: "rewritten"}, Data: map[string]string{"gone": "x"}}
		deployed := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: "rewritten"}, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "a"}}}},
		}}
		for _, object := range []client.Object{probe, deployed} {
			if err := p.Client.Create(t.Context(), object, client.DryRunAll); err != nil {
				return err.Error()
			}
		}
		if len(probe.Data) > 0 || deployed.Spec.Template.Spec.Containers[0].Image == "a" {
			return "they are not"
		}
		return ""
	})
	p.Create(t, "rewritten", func(b *v1alpha1.Devbox) {
		b.Spec.Resources.Requests = corev1.ResourceList{"cpu": kit.Quantity("1000m"), "memory": kit.Quantity("1024Mi")}
	})
	waitForPhase(t, p, "rewritten", v1alpha1.PhaseRunning)
	condition := waitForReason(t, p, "rewritten", v1alpha1.ConditionWorkloadApplied, reconciler.ReasonNotAsWanted, "")
	want := fmt.Sprintf(`applied, but some fields are not as wanted; in Deployment %s/rewritten, .spec.template.spec.containers[name="devbox"].image is `+
		`"mirror.example.com/dev:1", not "registry.example.com/dev:1" as wanted: changed by admission or the API server`, p.Namespace)
	if condition.Message != want {
		t.Errorf("it says  %s\nand not %s", condition.Message, want)
	}
	p.Quiet(t, time.Second)

	us := kit.NewApplier(t, p.Client, "us", apply.Policy{})
	outcome, err := us.Apply(t.Context(), apply.Intent{Config: corev1ac.ConfigMap("rewritten", p.Namespace).
		WithData(map[string]string{"gone": "x", "kept": "y"})})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(outcome.Differ); got != `[.data.gone is absent, not "x" as wanted: changed by admission or the API server]` {
		t.Errorf("taken out: %s", got)
	}
	outcome, err = us.Apply(t.Context(), apply.Intent{Config: corev1ac.Secret("rewritten", p.Namespace).
		WithData(map[string][]byte{"gone": []byte("x")}).WithStringData(map[string]string{"s": "y"})})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(outcome.Differ); got != `[.data.gone is absent, not (hidden) as wanted: changed by admission or the API server]` {
		t.Errorf("of a Secret: %s", got)
	}
}
