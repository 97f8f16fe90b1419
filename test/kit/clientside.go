package kit

import (
	"encoding/json"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ScaleTo scales an object through /scale, as kubectl scale does.
func ScaleTo(t *testing.T, c client.Client, object client.Object, n, manager string) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":`+n+`}}`))
	if err := c.SubResource("scale").Patch(t.Context(), object, patch, client.FieldOwner(manager),
		client.WithSubResourceBody(&autoscalingv1.Scale{})); err != nil {
		t.Fatal(err)
	}
}

// ClientSide is the field manager of kubectl apply without --server-side.
const ClientSide = "kubectl-client-side-apply"

// CreateClientSide creates an object as kubectl apply without --server-side does.
func CreateClientSide(t testing.TB, c client.Client, config runtime.ApplyConfiguration, into client.Object) {
	t.Helper()
	raw, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
	annotations := into.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[corev1.LastAppliedConfigAnnotation] = string(raw)
	into.SetAnnotations(annotations)
	if err := c.Create(t.Context(), into, client.FieldOwner(ClientSide)); err != nil {
		t.Fatal(err)
	}
}

// WithEnv returns the result of Deployment with a label and two environment variables.
func WithEnv(name, namespace string) *appsv1ac.DeploymentApplyConfiguration {
	config := Deployment(name, namespace, "v1").WithLabels(map[string]string{"team": "shop"})
	config.Spec.Template.Spec.Containers[0].WithEnv(
		corev1ac.EnvVar().WithName("A").WithValue("1"), corev1ac.EnvVar().WithName("B").WithValue("2"))
	return config
}
