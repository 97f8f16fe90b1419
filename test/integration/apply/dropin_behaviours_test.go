package apply

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv1ac "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// The bodies below hold of client.Apply, and so they hold of the drop-in client.
var dropInBehaviours = []struct {
	what string
	test func(*testing.T, *dropIn)
}{
	{"an apply creates, and the configuration holds the answer", func(t *testing.T, d *dropIn) {
		config := kit.Shop("web", d.namespace)
		d.mustApply(t, config)
		live := get(t, d, "web", &appsv1.Deployment{})
		if live == nil || config.UID == nil || *config.UID != live.UID || *config.ResourceVersion != live.ResourceVersion {
			t.Errorf("live %v, answer %v", live, config.ObjectMetaApplyConfiguration)
		}
		if config.Spec.Strategy == nil || config.Spec.Strategy.Type == nil {
			t.Error("the answer has no default of the server's")
		}
	}},
	{"the same again changes nothing, and the configuration holds the object", func(t *testing.T, d *dropIn) {
		d.mustApply(t, kit.Shop("web", d.namespace))
		before := get(t, d, "web", &appsv1.Deployment{})
		config := kit.Shop("web", d.namespace)
		d.mustApply(t, config)
		if after := get(t, d, "web", &appsv1.Deployment{}); after.ResourceVersion != before.ResourceVersion {
			t.Errorf("resourceVersion %s became %s", before.ResourceVersion, after.ResourceVersion)
		}
		if config.ResourceVersion == nil || *config.ResourceVersion != before.ResourceVersion || config.Spec.Strategy == nil {
			t.Errorf("the answer is %+v", config)
		}
	}},
	{"a change lands, and what is left out goes", func(t *testing.T, d *dropIn) {
		d.mustApply(t, d.page().WithData(map[string]string{"a": "1", "b": "2"}))
		d.mustApply(t, d.page().WithData(map[string]string{"a": "3"}))
		if got := get(t, d, "page", &corev1.ConfigMap{}).Data; !cmp.Equal(got, map[string]string{"a": "3"}) {
			t.Errorf("data %v", got)
		}
	}},
	{"a conflict is a 409 with its cause, and nothing lands", func(t *testing.T, d *dropIn) {
		d.ownedByOther(t)
		err := d.Apply(t.Context(), d.page().WithData(map[string]string{"a": "ours", "b": "new"}))
		wantFieldConflict(t, err, ".data.a", "other")
		if got := get(t, d, "page", &corev1.ConfigMap{}).Data; !cmp.Equal(got, map[string]string{"a": "theirs"}) {
			t.Errorf("data %v", got)
		}
	}},
	{"force takes what is contested", func(t *testing.T, d *dropIn) {
		d.ownedByOther(t)
		config := d.page().WithData(map[string]string{"a": "ours"})
		d.mustApply(t, config, client.ForceOwnership)
		if got := get(t, d, "page", &corev1.ConfigMap{}); got.Data["a"] != "ours" || *config.ResourceVersion != got.ResourceVersion {
			t.Errorf("live %v, answer %v", got, config)
		}
	}},
	{"another field owner applies under its name", func(t *testing.T, d *dropIn) {
		d.mustApply(t, d.page().WithData(map[string]string{"a": "1"}), client.FieldOwner("second"))
		if got := writersOf(get(t, d, "page", &corev1.ConfigMap{})); !slices.Equal(got, []string{"second"}) {
			t.Errorf("managers %v", got)
		}
	}},
	{"a field owner that the server refuses is refused", func(t *testing.T, d *dropIn) {
		if err := d.Apply(t.Context(), d.page(), client.FieldOwner(strings.Repeat("x", 200))); err == nil {
			t.Error("it was applied")
		}
	}},
	{"a dry run answers and creates nothing", func(t *testing.T, d *dropIn) {
		config := d.page().WithData(map[string]string{"a": "1"})
		d.mustApply(t, config, client.DryRunAll)
		if config.UID == nil || get(t, d, "page", &corev1.ConfigMap{}) != nil {
			t.Errorf("answer %v", config)
		}
	}},
	{"a dry run conflicts", func(t *testing.T, d *dropIn) {
		d.ownedByOther(t)
		err := d.Apply(t.Context(), d.page().WithData(map[string]string{"a": "ours"}), client.DryRunAll)
		wantFieldConflict(t, err, ".data.a", "other")
	}},
	{"a forced dry run takes nothing", func(t *testing.T, d *dropIn) {
		d.ownedByOther(t)
		config := d.page().WithData(map[string]string{"a": "ours"})
		d.mustApply(t, config, client.DryRunAll, client.ForceOwnership)
		if got := get(t, d, "page", &corev1.ConfigMap{}).Data["a"]; got != "theirs" || config.Data["a"] != "ours" {
			t.Errorf("live %q, answer %v", got, config.Data)
		}
	}},
	{"a status is applied through its subresource", func(t *testing.T, d *dropIn) {
		d.mustApply(t, kit.Shop("web", d.namespace))
		config := d.status(2)
		if err := d.Status().Apply(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		got := get(t, d, "web", &appsv1.Deployment{})
		if got.Status.ObservedGeneration != 2 || config.Spec == nil || *config.ResourceVersion != got.ResourceVersion {
			t.Errorf("status %+v, answer %+v", got.Status, config)
		}
		again := d.status(2)
		if err := d.SubResource("status").Apply(t.Context(), again); err != nil || *again.ResourceVersion != got.ResourceVersion || again.Spec == nil {
			t.Errorf("%v, answer %+v", err, again)
		}
	}},
	{"a status with a spec beside it is applied without the spec", func(t *testing.T, d *dropIn) {
		d.mustApply(t, kit.Shop("web", d.namespace))
		config := d.status(2).WithSpec(appsv1ac.DeploymentSpec().WithReplicas(7))
		if err := d.Status().Apply(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		if got := get(t, d, "web", &appsv1.Deployment{}); got.Status.ObservedGeneration != 2 || *got.Spec.Replicas != 3 {
			t.Errorf("%+v", got)
		}
	}},
	{"an empty status gives the status up", func(t *testing.T, d *dropIn) {
		d.mustApply(t, kit.Shop("web", d.namespace))
		for _, config := range []*appsv1ac.DeploymentApplyConfiguration{d.status(2), appsv1ac.Deployment("web", d.namespace)} {
			if err := d.Status().Apply(t.Context(), config); err != nil {
				t.Fatal(err)
			}
		}
		if got := get(t, d, "web", &appsv1.Deployment{}).Status.ObservedGeneration; got != 0 {
			t.Errorf("observedGeneration %d", got)
		}
	}},
	{"a status beside the spec is dropped by the server", func(t *testing.T, d *dropIn) {
		d.mustApply(t, kit.Shop("web", d.namespace).WithStatus(appsv1ac.DeploymentStatus().WithObservedGeneration(9)))
		if got := get(t, d, "web", &appsv1.Deployment{}); got == nil || got.Status.ObservedGeneration != 0 {
			t.Errorf("%+v", got)
		}
	}},
	{"a status of no object is not found", func(t *testing.T, d *dropIn) {
		if err := d.Status().Apply(t.Context(), d.status(2)); !apierrors.IsNotFound(err) {
			t.Errorf("%v", err)
		}
	}},
	{"a subresource that there is not is an error", func(t *testing.T, d *dropIn) {
		d.mustApply(t, d.page())
		if err := d.SubResource("nothing").Apply(t.Context(), d.page()); !apierrors.IsNotFound(err) && !errors.Is(err, apply.ErrRefused) {
			t.Errorf("%v", err)
		}
	}},
	{"a scale is applied as a body", func(t *testing.T, d *dropIn) {
		d.mustApply(t, appsv1ac.Deployment("web", d.namespace).WithSpec(kit.Shop("web", d.namespace).Spec))
		scale := autoscalingv1ac.Scale().WithSpec(autoscalingv1ac.ScaleSpec().WithReplicas(5))
		err := d.SubResource("scale").Apply(t.Context(), appsv1ac.Deployment("web", d.namespace),
			&client.SubResourceApplyOptions{SubResourceBody: scale, ApplyOptions: client.ApplyOptions{Force: new(true)}})
		if got := get(t, d, "web", &appsv1.Deployment{}); err != nil || *got.Spec.Replicas != 5 {
			t.Errorf("%v, %d replicas", err, *got.Spec.Replicas)
		}
	}},
	{"the uid of the object lets an apply through", func(t *testing.T, d *dropIn) {
		d.mustApply(t, d.page())
		d.mustApply(t, d.page().WithUID(get(t, d, "page", &corev1.ConfigMap{}).UID).WithData(map[string]string{"a": "1"}))
	}},
	{"a uid of no object conflicts, and nothing is created", func(t *testing.T, d *dropIn) {
		err := d.Apply(t.Context(), d.page().WithUID("a-b-c"))
		if !apierrors.IsConflict(err) || get(t, d, "page", &corev1.ConfigMap{}) != nil {
			t.Errorf("%v", err)
		}
	}},
	{"the uid of an earlier object is invalid", func(t *testing.T, d *dropIn) {
		d.mustApply(t, d.page())
		uid := get(t, d, "page", &corev1.ConfigMap{}).UID
		d.recreate(t, "page")
		if err := d.Apply(t.Context(), d.page().WithUID(uid)); !apierrors.IsInvalid(err) {
			t.Errorf("%v", err)
		}
	}},
	{"the resourceVersion of the object lets an apply through", func(t *testing.T, d *dropIn) {
		d.mustApply(t, d.page())
		config := d.page().WithResourceVersion(get(t, d, "page", &corev1.ConfigMap{}).ResourceVersion).WithData(map[string]string{"a": "1"})
		d.mustApply(t, config)
		if got := get(t, d, "page", &corev1.ConfigMap{}); got.Data["a"] != "1" || *config.ResourceVersion != got.ResourceVersion {
			t.Errorf("live %v, answer %v", got, config)
		}
	}},
	{"an earlier resourceVersion conflicts, forced or not", func(t *testing.T, d *dropIn) {
		d.mustApply(t, d.page())
		version := get(t, d, "page", &corev1.ConfigMap{}).ResourceVersion
		d.mustApply(t, d.page().WithData(map[string]string{"a": "1"}))
		for _, options := range [][]client.ApplyOption{nil, {client.ForceOwnership}} {
			if err := d.Apply(t.Context(), d.page().WithResourceVersion(version), options...); !apierrors.IsConflict(err) {
				t.Errorf("%v: %v", options, err)
			}
		}
	}},
	{"a conflict with a resourceVersion is a conflict", func(t *testing.T, d *dropIn) {
		d.ownedByOther(t)
		config := d.page().WithResourceVersion(get(t, d, "page", &corev1.ConfigMap{}).ResourceVersion).WithData(map[string]string{"a": "ours"})
		wantFieldConflict(t, d.Apply(t.Context(), config), ".data.a", "other")
	}},
	{"an answer can be applied again", func(t *testing.T, d *dropIn) {
		config := d.page().WithData(map[string]string{"a": "1"})
		d.mustApply(t, config)
		config.WithData(map[string]string{"a": "2"})
		d.mustApply(t, config)
		if got := get(t, d, "page", &corev1.ConfigMap{}).Data["a"]; got != "2" {
			t.Errorf("data %q", got)
		}
	}},
	{"an unstructured answer is a bad request", func(t *testing.T, d *dropIn) {
		config, object := d.pageOf()
		d.mustApply(t, config)
		if object.GetUID() == "" || len(object.GetManagedFields()) == 0 {
			t.Errorf("the answer is %v", object)
		}
		if err := d.Apply(t.Context(), config); !apierrors.IsBadRequest(err) {
			t.Errorf("%v", err)
		}
	}},
	{"an unstructured configuration that is there already holds the object", func(t *testing.T, d *dropIn) {
		first, _ := d.pageOf()
		d.mustApply(t, first)
		config, object := d.pageOf()
		d.mustApply(t, config)
		if object.GetUID() == "" || object.GetKind() != "ConfigMap" || object.GetAPIVersion() != "v1" || len(object.GetManagedFields()) == 0 {
			t.Errorf("the answer is %v", object)
		}
	}},
	{"a kind that there is not has no match", func(t *testing.T, d *dropIn) {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v7", "kind": "Nothing"}}
		object.SetName("x")
		if err := d.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object)); !meta.IsNoMatchError(err) {
			t.Errorf("%v", err)
		}
	}},
	{"a namespace that there is not is not found", func(t *testing.T, d *dropIn) {
		if err := d.Apply(t.Context(), corev1ac.ConfigMap("page", "no-such-namespace")); !apierrors.IsNotFound(err) {
			t.Errorf("%v", err)
		}
	}},
	{"what validation refuses is invalid", func(t *testing.T, d *dropIn) {
		if err := d.Apply(t.Context(), kit.Shop("web", d.namespace).WithLabels(map[string]string{"a": "no label!"})); !apierrors.IsInvalid(err) {
			t.Errorf("%v", err)
		}
	}},
	{"a field that there is not is a 500", func(t *testing.T, d *dropIn) {
		config, object := d.pageOf()
		object.Object["wrong"] = "x"
		err := d.Apply(t.Context(), config)
		if status := apierrors.APIStatus(nil); !errors.As(err, &status) || status.Status().Code != http.StatusInternalServerError {
			t.Errorf("%v", err)
		}
	}},
	{"no name, no namespace and no configuration are errors", func(t *testing.T, d *dropIn) {
		for _, config := range []runtime.ApplyConfiguration{corev1ac.ConfigMap("", d.namespace), corev1ac.ConfigMap("page", ""), nil} {
			if err := d.Apply(t.Context(), config); err == nil {
				t.Errorf("%v was applied", config)
			}
		}
	}},
	{"an immutable field is invalid, and the error says so", func(t *testing.T, d *dropIn) {
		d.mustApply(t, kit.Shop("web", d.namespace))
		config := kit.Shop("web", d.namespace)
		config.Spec.Selector.WithMatchLabels(map[string]string{"another": "label"})
		if err := d.Apply(t.Context(), config); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "field is immutable") {
			t.Errorf("%v", err)
		}
	}},
	{"an apply after a delete creates", func(t *testing.T, d *dropIn) {
		d.mustApply(t, d.page().WithData(map[string]string{"a": "1"}))
		if err := d.Delete(t.Context(), get(t, d, "page", &corev1.ConfigMap{})); err != nil {
			t.Fatal(err)
		}
		d.mustApply(t, d.page().WithData(map[string]string{"a": "1"}))
		if get(t, d, "page", &corev1.ConfigMap{}) == nil {
			t.Error("there is no object")
		}
	}},
	{"the other verbs write under the client's field owner", func(t *testing.T, d *dropIn) {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: "page"}, Data: map[string]string{"a": "1"}}
		if err := d.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		object.Data["a"] = "2"
		if err := d.Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		if err := d.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(`{"data":{"b":"2"}}`))); err != nil {
			t.Fatal(err)
		}
		d.mustApply(t, kit.Shop("web", d.namespace))
		deployment := get(t, d, "web", &appsv1.Deployment{})
		deployment.Status.ObservedGeneration = 2
		if err := d.Status().Update(t.Context(), deployment); err != nil {
			t.Fatal(err)
		}
		for _, read := range []client.Object{get(t, d, "page", &corev1.ConfigMap{}), get(t, d, "web", &appsv1.Deployment{})} {
			if got := slices.Compact(writersOf(read)); !slices.Equal(got, []string{dropInManager}) {
				t.Errorf("%s: managers %v", read.GetName(), got)
			}
		}
	}},
	{"the other verbs write under the field owner that they name", func(t *testing.T, d *dropIn) {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: "page"}, Data: map[string]string{"a": "1"}}
		if err := d.Create(t.Context(), object, client.FieldOwner("creator")); err != nil {
			t.Fatal(err)
		}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"data":{"b":"2"}}`))
		if err := d.Patch(t.Context(), object, patch, client.FieldOwner("patcher")); err != nil {
			t.Fatal(err)
		}
		read := get(t, d, "page", &corev1.ConfigMap{})
		if read.Data["b"] != "2" {
			t.Errorf("%v", read.Data)
		}
		if got := writersOf(read); !slices.Equal(got, []string{"creator", "patcher"}) {
			t.Errorf("managers %v", got)
		}
		if err := d.Delete(t.Context(), object); err != nil || get(t, d, "page", &corev1.ConfigMap{}) != nil {
			t.Errorf("%v, or it is still there", err)
		}
	}},
}
