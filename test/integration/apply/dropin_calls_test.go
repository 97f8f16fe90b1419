package apply

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/test/kit"
)

func (d *dropIn) applies() int { return d.recorder.Count(kit.Request{Verb: "apply"}) }

// settle applies until nothing is sent: the schemas are fetched meanwhile.
func (d *dropIn) settle(t *testing.T, config func() runtime.ApplyConfiguration) {
	t.Helper()
	kit.WaitFor(t, "an apply that sends nothing", func() string {
		d.recorder.Reset()
		d.mustApply(t, config())
		if n := d.applies(); n > 0 {
			return "it was sent"
		}
		return ""
	})
}

func (d *dropIn) mustApply(t *testing.T, config runtime.ApplyConfiguration, opts ...client.ApplyOption) {
	t.Helper()
	if err := d.Apply(t.Context(), config, opts...); err != nil {
		t.Fatal(err)
	}
}

func (d *dropIn) page() *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap("page", d.namespace)
}

// pageOf gives a configuration and the object in it.
func (d *dropIn) pageOf() (runtime.ApplyConfiguration, *unstructured.Unstructured) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "1"},
	}}
	object.SetNamespace(d.namespace)
	object.SetName("page")
	return client.ApplyConfigurationFromUnstructured(object), object
}

func (d *dropIn) status(observed int64) *appsv1ac.DeploymentApplyConfiguration {
	return appsv1ac.Deployment("web", d.namespace).WithStatus(appsv1ac.DeploymentStatus().WithObservedGeneration(observed))
}

func (d *dropIn) ownedByOther(t *testing.T) {
	t.Helper()
	if err := d.live.Apply(t.Context(), d.page().WithData(map[string]string{"a": "theirs"}), client.FieldOwner("other")); err != nil {
		t.Fatal(err)
	}
}

func wantFieldConflict(t *testing.T, err error, field, manager string) {
	t.Helper()
	status := apierrors.APIStatus(nil)
	if !apierrors.IsConflict(err) || !errors.As(err, &status) {
		t.Fatalf("%v is no conflict", err)
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict && cause.Field == field && strings.Contains(cause.Message, manager) {
			return
		}
	}
	t.Errorf("no %s of %s in %+v", field, manager, status.Status().Details)
}

func writersOf(object client.Object) []string {
	var names []string
	for _, entry := range object.GetManagedFields() {
		names = append(names, entry.Manager)
	}
	slices.Sort(names)
	return names
}

func configJSON(t *testing.T, config runtime.ApplyConfiguration) map[string]any {
	t.Helper()
	var content any = config
	if holder, ok := config.(interface{ UnstructuredContent() map[string]any }); ok {
		content = holder.UnstructuredContent()
	}
	raw, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		t.Fatal(err)
	}
	return object
}
