package applytest_test

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// hpa owns the replicas of web.
var hpa = fieldowners.Manager{Name: "hpa", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "scale", APIVersion: "apps/v1"}

// fakeClient has one deployment.
func fakeClient() client.WithWatch {
	return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithStatusSubresource(web()).
		WithReturnManagedFields().WithObjects(web()).Build()
}

func web() *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", UID: "uid-1",
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: hpa.Name, Operation: hpa.Operation, Subresource: hpa.Subresource, APIVersion: hpa.APIVersion,
				FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`),
			}},
		},
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(5))},
	}
}

func threeReplicas() *appsv1ac.DeploymentApplyConfiguration {
	return appsv1ac.Deployment("web", "shop").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(3))
}

func unstructuredWeb() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "namespace": "shop"},
		"spec":     map[string]any{"replicas": int64(4)},
	}}
}

func newApplier(t testing.TB, c client.Client, policy apply.Policy) *apply.Applier {
	t.Helper()
	applier, err := apply.New(c, apply.Config{FieldManager: "test", LiveReader: c, Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	return applier
}

// testingT is a test whose failures are looked at, with its own end.
type testingT struct {
	testing.TB

	failures []string
	logs     []string
	helpers  int
}

func (t *testingT) Helper() { t.helpers++ }
func (t *testingT) Errorf(format string, args ...any) {
	t.failures = append(t.failures, fmt.Sprintf(format, args...))
}
func (t *testingT) Error(args ...any) { t.failures = append(t.failures, fmt.Sprint(args...)) }
func (t *testingT) Logf(format string, args ...any) {
	t.logs = append(t.logs, fmt.Sprintf(format, args...))
}
func (t *testingT) Name() string {
	if t.TB == nil {
		return "Example"
	}
	return t.TB.Name()
}

const owner = client.FieldOwner("test")

func live(t testing.TB, c client.Reader) *appsv1.Deployment {
	t.Helper()
	object := &appsv1.Deployment{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, object); err != nil {
		t.Fatal(err)
	}
	return object
}
