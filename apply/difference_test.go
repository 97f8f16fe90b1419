package apply_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv1ac "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// differing is the deployment with what was sent, but another number of replicas.
func differing(fields string, others ...metav1.ManagedFieldsEntry) *appsv1.Deployment {
	d := web("uid-1", "8")
	d.Spec.Paused = false
	d.ManagedFields = append([]metav1.ManagedFieldsEntry{entry(manager, "Apply", "", fields)}, others...)
	return d
}

// TestDiffers compares what was sent with the answer, field by field of ours.
func TestDiffers(t *testing.T) {
	const ours = `{"f:spec":{"f:replicas":{},"f:paused":{}}}`
	const byAdmission = ".spec.replicas is 5, not 3 as wanted: changed by admission or the API server"
	const requests = `{"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:name":{},"f:resources":{"f:requests":{"f:cpu":{}}}}}}}}}`
	hpa := entry("hpa", "Update", "scale", `{"f:spec":{"f:replicas":{}}}`)
	kubectl := entry("kubectl", "Apply", "", `{"f:spec":{"f:paused":{}}}`)
	paused := differing(ours)
	paused.Spec.Paused = true
	absent := differing(ours)
	absent.Spec.Replicas = nil
	spelled := differing(requests)
	spelled.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}}}}
	cpu := threeReplicas()
	cpu.Spec.WithTemplate(corev1ac.PodTemplateSpec().WithSpec(corev1ac.PodSpec().WithContainers(corev1ac.Container().WithName("web").
		WithResources(corev1ac.ResourceRequirements().WithRequests(corev1.ResourceList{"cpu": resource.MustParse("1000m")})))))
	unwanted := differing(`{"f:spec":{"f:replicas":{},"f:minReadySeconds":{}}}`)
	unwanted.Spec.MinReadySeconds = 4
	byUpdate, throughStatus := differing(ours), differing(ours)
	byUpdate.ManagedFields[0].Operation, throughStatus.ManagedFields[0].Subresource = "Update", "status"
	same := differing(ours, hpa)
	same.Spec.Replicas = new(int32(3))
	for reason, test := range map[string]struct {
		config runtime.ApplyConfiguration // replicas and a pause of false, unless given
		answer *appsv1.Deployment
		want   []string
	}{
		"the server changed it":                 {nil, differing(ours), []string{byAdmission}},
		"another manager owns it, and not both": {nil, differing(ours, kubectl, hpa), []string{".spec.replicas is 5, not 3 as wanted: changed by hpa/Update[scale]"}},
		"two fields": {nil, paused,
			[]string{".spec.paused is true, not false as wanted: changed by admission or the API server", byAdmission}},
		"it is gone":                  {nil, absent, []string{".spec.replicas is absent, not 3 as wanted: changed by admission or the API server"}},
		"nobody looks at another's":   {nil, differing(`{"f:spec":{"f:paused":{}}}`, hpa), nil},
		"we did not want it":          {nil, unwanted, []string{byAdmission}},
		"absent is as good as zero":   {nil, differing(ours), []string{byAdmission}},
		"a quantity spelled as 1":     {cpu, spelled, []string{byAdmission}},
		"our name, by Update":         {nil, byUpdate, nil},
		"our name, through status":    {nil, throughStatus, nil},
		"somebody's entry is forged":  {nil, withBrokenEntry("broken", differing(ours)), []string{byAdmission}},
		"our entry is forged as well": {nil, withBrokenEntry(manager, differing(ours)), []string{byAdmission}},
		"all is as wanted":            {nil, same, nil},
	} {
		t.Run(reason, func(t *testing.T) {
			config := test.config
			if config == nil {
				config = replicasAndPause()
			}
			s := newScript(t, []step{{"PATCH", ok(test.answer)}})
			outcome, err := s.applier(apply.Policy{}, nil).Apply(t.Context(), apply.Intent{Config: config})
			var got []string
			for _, difference := range outcome.Differ {
				got = append(got, difference.String())
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestDiffersOfASecret tells which field differs, and no value. What is written as stringData
// is not in the answer.
func TestDiffersOfASecret(t *testing.T) {
	answer := secret()
	answer.ManagedFields = []metav1.ManagedFieldsEntry{entry(manager, "Apply", "", `{"f:data":{"f:password":{}},"f:stringData":{"f:user":{}}}`)}
	s := newScript(t, []step{{"PATCH", ok(answer)}})
	config := corev1ac.Secret("web", "shop").WithData(map[string][]byte{"password": []byte(ourPassword)}).WithStringData(map[string]string{"user": "me"})
	outcome, err := s.applier(apply.Policy{}, nil).Apply(t.Context(), apply.Intent{Config: config})
	if err != nil || len(outcome.Differ) != 1 {
		t.Fatalf("%v, %v; want one difference", outcome.Differ, err)
	}
	if got := outcome.Differ[0]; got.String() != ".data.password is (hidden), not (hidden) as wanted: changed by admission or the API server" ||
		got.Wanted != fieldowners.Hidden || got.Live != fieldowners.Hidden {
		t.Errorf("%v: %#v", got, got)
	}
}

// TestDiffersOfBytes: the server spells them its own way, and a text that only looks like bytes as it is. What a Secret calls stringData may be
// any field of another kind.
func TestDiffersOfBytes(t *testing.T) {
	of := func(binary, text string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "web", "namespace": "shop"},
			"binaryData": map[string]any{"a": binary}, "stringData": map[string]any{"b": text}, "data": map[string]any{"c": binary}}
	}
	answer := of("YWI=", "2")
	answer["metadata"] = map[string]any{"name": "web", "namespace": "shop", "uid": "uid-1", "resourceVersion": "8",
		"managedFields": []any{entry(manager, "Apply", "", `{"f:binaryData":{"f:a":{}},"f:stringData":{"f:b":{}},"f:data":{"f:c":{}}}`)}}
	s := newScript(t, []step{{"PATCH", ok(answer)}})
	outcome, err := s.applier(apply.Policy{}, nil).Apply(t.Context(), apply.Intent{Config: loose(of("YWI=\n", "1"))})
	if err != nil || len(outcome.Differ) != 2 || outcome.Differ[0].Path.String() != ".data.c" || outcome.Differ[1].Path.String() != ".stringData.b" {
		t.Errorf("%v, %v", outcome.Differ, err)
	}
}

// TestDiffersNotOfABody: a Scale is answered as a Scale, whose owners nobody is told.
func TestDiffersNotOfABody(t *testing.T) {
	answer := map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": map[string]any{"replicas": 5},
		"metadata": map[string]any{"name": "web", "namespace": "shop", "uid": "uid-1", "resourceVersion": "8",
			"managedFields": []any{entry(manager, "Apply", "scale", `{"f:spec":{"f:replicas":{}}}`)}}}
	s := newScript(t, []step{{"PATCH", at("/scale", ok(answer))}})
	outcome, err := s.applier(apply.Policy{}, nil).Apply(t.Context(), apply.Intent{
		Config: appsv1ac.Deployment("web", "shop"), Subresource: "scale",
		Body: autoscalingv1ac.Scale().WithSpec(autoscalingv1ac.ScaleSpec().WithReplicas(3)),
	})
	if err != nil || len(outcome.Differ) > 0 {
		t.Errorf("%v, %v", outcome.Differ, err)
	}
}

func withBrokenEntry(name string, deployment *appsv1.Deployment) *appsv1.Deployment {
	deployment.ManagedFields = append(deployment.ManagedFields, metav1.ManagedFieldsEntry{Manager: name})
	return deployment
}
