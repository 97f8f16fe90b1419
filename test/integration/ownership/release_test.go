package ownership

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv1ac "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	autoscalingv2ac "k8s.io/client-go/applyconfigurations/autoscaling/v2"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

// liveFields reads an object and who owns which leaf of it.
func liveFields(t *testing.T, c client.Client, object apply.ObjectRef) (*unstructured.Unstructured, []string) {
	t.Helper()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(object.GroupVersionKind)
	if err := c.Get(t.Context(), object.NamespacedName, live); err != nil {
		t.Fatal(err)
	}
	ownership, err := fieldowners.Parse(live.GetManagedFields())
	if err != nil {
		t.Fatal(err)
	}
	var owned []string
	for _, o := range fieldowners.Diff(fieldowners.Ownership{}, ownership).Gained {
		owned = append(owned, o.String())
	}
	return live, owned
}

// checkRelease holds an outcome and that nothing applied by the manager is left.
func checkRelease(t *testing.T, c client.Client, applier *apply.Applier, object apply.ObjectRef, want apply.Action, attempts int) {
	t.Helper()
	outcome, err := ownership.Release(t.Context(), applier, object)
	if err != nil || outcome.Action != want || outcome.Attempts != attempts || outcome.Requests != attempts+1 {
		t.Fatalf("%+v, %v; want %s with %d attempts and the read", outcome, err, want, attempts)
	}
	live, _ := liveFields(t, c, object)
	for _, e := range live.GetManagedFields() {
		if e.Manager == applier.FieldManager() && e.Operation == metav1.ManagedFieldsOperationApply {
			t.Errorf("an entry is left: %v", e)
		}
	}
	if outcome.Object.UID != live.GetUID() || outcome.Object.ResourceVersion != live.GetResourceVersion() {
		t.Errorf("the outcome is of %+v, the object is at %s", outcome.Object, live.GetResourceVersion())
	}
}

func TestReleaseGivesUpEveryField(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	object := kit.RefOf("v1", "ConfigMap", namespace, "a")
	config := func() *corev1ac.ConfigMapApplyConfiguration { return corev1ac.ConfigMap("a", namespace) }
	leaving, staying := kit.NewApplier(t, c, "leaving", apply.Policy{}), kit.NewApplier(t, c, "staying", apply.Policy{})
	kit.MustApply(t, leaving, apply.Intent{Config: config().WithData(map[string]string{"alone": "1", "shared": "1"})})
	kit.MustApply(t, staying, apply.Intent{Config: config().WithData(map[string]string{"shared": "1"})})
	byUpdate := client.RawPatch(types.MergePatchType, []byte(`{"data":{"updated":"1"}}`))
	if err := c.Patch(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}},
		byUpdate, client.FieldOwner("leaving")); err != nil {
		t.Fatal(err)
	}

	checkRelease(t, c, leaving, object, apply.Configured, 1)
	live, owned := liveFields(t, c, object)
	if diff := cmp.Diff(map[string]any{"shared": "1", "updated": "1"}, live.Object["data"]); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{".data.shared of staying/Apply", ".data.updated of leaving/Update"}, owned); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	checkRelease(t, c, leaving, object, apply.Unchanged, 0)
}

// TestReleaseOfTheLastEntry shows what Release's documentation says of it.
func TestReleaseOfTheLastEntry(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	object := kit.RefOf("v1", "ConfigMap", namespace, "a")
	config := func() *corev1ac.ConfigMapApplyConfiguration { return corev1ac.ConfigMap("a", namespace) }
	only := kit.NewApplier(t, c, "only", apply.Policy{})
	kit.MustApply(t, only, apply.Intent{Config: config().WithData(map[string]string{"x": "1"})})
	checkRelease(t, c, only, object, apply.Configured, 1)

	byUpdate := client.RawPatch(types.MergePatchType, []byte(`{"data":{"y":"1"}}`))
	if err := c.Patch(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}},
		byUpdate, client.FieldOwner("updater")); err != nil {
		t.Fatal(err)
	}
	if _, owned := liveFields(t, c, object); len(owned) > 0 {
		t.Errorf("an Update is recorded: %v", owned)
	}
	kit.MustApply(t, only, apply.Intent{Config: config().WithData(map[string]string{"z": "1"})})
	_, owned := liveFields(t, c, object)
	if diff := cmp.Diff([]string{".data.y of before-first-apply/Update", ".data.z of only/Apply"}, owned); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
}

func TestReleaseOfSubresources(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	object := kit.RefOf("apps/v1", "Deployment", namespace, "a")
	owner, leaving := kit.NewApplier(t, c, "owner", apply.Policy{}), kit.NewApplier(t, c, "leaving", apply.Policy{})
	kit.MustApply(t, owner, apply.Intent{Config: kit.Deployment("a", namespace, "v1")}, apply.Intent{
		Subresource: "status",
		Config:      appsv1ac.Deployment("a", namespace).WithStatus(appsv1ac.DeploymentStatus().WithObservedGeneration(1)),
	})
	kit.MustApply(t, leaving,
		apply.Intent{Config: kit.Replicas("a", namespace, 4)},
		apply.Intent{Config: appsv1ac.Deployment("a", namespace), Subresource: "scale",
			Body: autoscalingv1ac.Scale().WithSpec(autoscalingv1ac.ScaleSpec().WithReplicas(4))},
		apply.Intent{Config: appsv1ac.Deployment("a", namespace).WithAnnotations(map[string]string{"x": "1"})},
		apply.Intent{Subresource: "status", Config: appsv1ac.Deployment("a", namespace).
			WithStatus(appsv1ac.DeploymentStatus().WithObservedGeneration(1).WithReplicas(2))})
	if live, owned := liveFields(t, c, object); must(live.Object, "spec", "replicas") != int64(4) ||
		!cmp.Equal(kit.OwnersOf(t, c, namespace, "a", ".spec.replicas"), []string{"leaving/Apply[scale]"}) {
		t.Fatalf("replicas are to be owned through /scale alone: %v", owned)
	}

	checkRelease(t, c, leaving, object, apply.Configured, 3)
	live, _ := liveFields(t, c, object)
	if got := must(live.Object, "spec", "replicas"); got != int64(4) {
		t.Errorf("%v replicas; a release must not scale", got)
	}
	if diff := cmp.Diff(map[string]any{"observedGeneration": int64(1)}, live.Object["status"]); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if len(live.GetAnnotations()) > 0 {
		t.Errorf("annotations %v", live.GetAnnotations())
	}
}

// TestNameOnlyScaleScalesToZero is why an entry of /scale is released otherwise.
func TestNameOnlyScaleScalesToZero(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	kit.MustApply(t, kit.NewApplier(t, c, "owner", apply.Policy{}), apply.Intent{Config: kit.Deployment("a", namespace, "v1")})
	scaled := func(body *autoscalingv1ac.ScaleApplyConfiguration) apply.Intent {
		return apply.Intent{Config: appsv1ac.Deployment("a", namespace), Subresource: "scale", Body: body}
	}
	scaler := kit.NewApplier(t, c, "scaler", apply.Policy{})
	kit.MustApply(t, scaler, apply.Intent{Config: kit.Replicas("a", namespace, 4)},
		scaled(autoscalingv1ac.Scale().WithSpec(autoscalingv1ac.ScaleSpec().WithReplicas(4))),
		apply.Intent{Config: appsv1ac.Deployment("a", namespace)}, scaled(autoscalingv1ac.Scale()))
	live, _ := liveFields(t, c, kit.RefOf("apps/v1", "Deployment", namespace, "a"))
	if got := must(live.Object, "spec", "replicas"); got != int64(0) {
		t.Errorf("%v replicas: the server got better, Release may as well", got)
	}
}

func TestReleaseInAnotherVersion(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	hpa := autoscalingv2ac.HorizontalPodAutoscaler("a", namespace).WithSpec(autoscalingv2ac.HorizontalPodAutoscalerSpec().
		WithMaxReplicas(3).WithScaleTargetRef(autoscalingv2ac.CrossVersionObjectReference().WithAPIVersion("apps/v1").WithKind("Deployment").WithName("a")))
	kit.MustApply(t, kit.NewApplier(t, c, "owner", apply.Policy{}), apply.Intent{Config: hpa})
	leaving := kit.NewApplier(t, c, "leaving", apply.Policy{})
	kit.MustApply(t, leaving, apply.Intent{Config: autoscalingv2ac.HorizontalPodAutoscaler("a", namespace).
		WithSpec(autoscalingv2ac.HorizontalPodAutoscalerSpec().WithMinReplicas(2))})
	object := kit.RefOf("autoscaling/v1", "HorizontalPodAutoscaler", namespace, "a")
	checkRelease(t, c, leaving, object, apply.Configured, 1)
	live, _ := liveFields(t, c, object)
	if got := must(live.Object, "spec", "minReplicas"); got != int64(1) {
		t.Errorf("minReplicas is %v, want the default", got)
	}
}

func TestReleaseOfWhatTheObjectNeeds(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	object := kit.RefOf("apps/v1", "Deployment", namespace, "a")
	owner := kit.NewApplier(t, c, "owner", apply.Policy{})
	kit.MustApply(t, owner, apply.Intent{Config: kit.Deployment("a", namespace, "v1")})
	before, _ := liveFields(t, c, object)
	_, err := ownership.Release(t.Context(), owner, object)
	if !errors.Is(err, apply.ErrRefused) || !strings.Contains(err.Error(), "the object would be invalid without the fields that field manager owner would give up") {
		t.Errorf("got %v, want ErrRefused that says what was refused", err)
	}
	if after, _ := liveFields(t, c, object); after.GetResourceVersion() != before.GetResourceVersion() {
		t.Error("something of it landed")
	}
}

func must(object map[string]any, fields ...string) any {
	found, _, _ := unstructured.NestedFieldNoCopy(object, fields...)
	return found
}
