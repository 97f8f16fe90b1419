package apply

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

// pinnedApply is an apply of replicas with a uid, and forced with a resourceVersion.
func pinnedApply(t *testing.T, namespace, name string, uid types.UID, resourceVersion string) func(client.Client) error {
	return func(c client.Client) error {
		config := kit.Replicas(name, namespace, 3)
		if uid != "" {
			config.WithUID(uid)
		}
		options := []client.ApplyOption{applytestManager}
		if resourceVersion != "" {
			config.WithResourceVersion(resourceVersion)
			options = append(options, client.ForceOwnership)
		}
		return c.Apply(t.Context(), config, options...)
	}
}

func ownedDeployment(t *testing.T, c client.Client, namespace string) *appsv1.Deployment {
	t.Helper()
	config := kit.Deployment("a", namespace, "v1")
	config.Spec.WithReplicas(5)
	if err := c.Apply(t.Context(), config, client.FieldOwner("owner")); err != nil {
		t.Fatal(err)
	}
	return liveDeploymentA(t, c, namespace)
}

func withOtherUID(live *appsv1.Deployment) *appsv1.Deployment {
	other := live.DeepCopy()
	other.UID = "0000-1"
	return other
}

// createdAgain is the object to be created once more.
func createdAgain(live *appsv1.Deployment) *appsv1.Deployment {
	other := live.DeepCopy()
	other.UID, other.ResourceVersion = "", ""
	return other
}

// labelUpdater is who wrote by Update.
func labelUpdater(t *testing.T, live client.Object) fieldowners.Manager {
	t.Helper()
	ownership, err := fieldowners.Parse(live.GetManagedFields())
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range ownership.Entries() {
		if entry.Operation == metav1.ManagedFieldsOperationUpdate {
			return entry.Manager
		}
	}
	t.Fatal("nobody updated it")
	return fieldowners.Manager{}
}

func largeConfigMap(namespace string, size int) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap("large", namespace).WithData(map[string]string{"k": strings.Repeat("x", size)})
}

func onePort(namespace, name string) *corev1ac.ServiceApplyConfiguration {
	port := corev1ac.ServicePort().WithPort(80).WithName(name)
	return corev1ac.Service("web", namespace).WithSpec(corev1ac.ServiceSpec().WithPorts(port))
}

func unknownFieldIn(namespace string) runtime.ApplyConfiguration {
	return client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "a", "namespace": namespace},
		"spec":     map[string]any{"nothing": "x"},
	}})
}
