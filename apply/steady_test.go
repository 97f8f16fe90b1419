package apply

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestSteady takes what was proven, changes the object, and asks again: the process that
// proved it, and one that has just started.
func TestSteady(t *testing.T) {
	container := func(d *appsv1.Deployment) *corev1.Container { return &d.Spec.Template.Spec.Containers[0] }
	own := func(d *appsv1.Deployment) *metav1.ManagedFieldsEntry { return &d.ManagedFields[2] }
	for name, c := range map[string]struct {
		change func(*appsv1.Deployment)
		sent   bool
	}{
		"nothing":              {func(*appsv1.Deployment) {}, false},
		"another's value":      {func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(9)) }, false},
		"the status":           {func(d *appsv1.Deployment) { d.Status.Replicas = 9 }, false},
		"a container beside":   {func(d *appsv1.Deployment) { addContainer(d) }, false},
		"time of our entry":    {func(d *appsv1.Deployment) { own(d).Time = new(metav1.Now()) }, false},
		"others' entries":      {func(d *appsv1.Deployment) { d.ManagedFields = d.ManagedFields[2:] }, false},
		"a label":              {func(d *appsv1.Deployment) { d.Labels["tier"] = "other" }, true},
		"a number":             {func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(6)) }, true},
		"an image":             {func(d *appsv1.Deployment) { container(d).Image = "other" }, true},
		"an atomic list":       {func(d *appsv1.Deployment) { container(d).Args[1] = "--port=9090" }, true},
		"an atomic map":        {func(d *appsv1.Deployment) { d.Spec.Selector.MatchLabels["app"] = "other" }, true},
		"an item gone":         {func(d *appsv1.Deployment) { container(d).Env = container(d).Env[:1] }, true},
		"items reordered":      {func(d *appsv1.Deployment) { slices.Reverse(container(d).Env) }, true},
		"a port's protocol":    {func(d *appsv1.Deployment) { container(d).Ports[0].Protocol = corev1.ProtocolUDP }, true},
		"a quantity":           {func(d *appsv1.Deployment) { container(d).Resources.Requests["cpu"] = resource.MustParse("2") }, true},
		"an empty field gone":  {func(d *appsv1.Deployment) { d.Spec.Template.Spec.Volumes[0].EmptyDir = nil }, true},
		"a field taken":        {func(d *appsv1.Deployment) { disown(own(d), `"f:revisionHistoryLimit":{},`) }, true},
		"a field more":         {func(d *appsv1.Deployment) { disown(own(d), "{}", `{"f:paused":{}}`) }, true},
		"no entry":             {func(d *appsv1.Deployment) { d.ManagedFields = slices.Delete(d.ManagedFields, 2, 3) }, true},
		"no managed fields":    {func(d *appsv1.Deployment) { d.ManagedFields = nil }, true},
		"two entries":          {func(d *appsv1.Deployment) { d.ManagedFields = append(d.ManagedFields, *own(d)) }, true},
		"a broken entry":       {func(d *appsv1.Deployment) { own(d).FieldsV1 = metav1.NewFieldsV1("{") }, true},
		"an entry of nothing":  {func(d *appsv1.Deployment) { own(d).FieldsV1 = nil }, true},
		"another apiVersion":   {func(d *appsv1.Deployment) { own(d).APIVersion = "apps/v1beta1" }, true},
		"another operation":    {func(d *appsv1.Deployment) { own(d).Operation = metav1.ManagedFieldsOperationUpdate }, true},
		"another subresource":  {func(d *appsv1.Deployment) { own(d).Subresource = "status" }, true},
		"another of that name": {func(d *appsv1.Deployment) { own(d).Manager = "shopper" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			cache := &shopCache{}
			a := newShopApplier(t, cache)
			cache.deployment = applied(t, a)
			wantSteady(t, a, Intent{Config: shop()}, true)
			changed := cache.deployment.DeepCopy()
			c.change(changed)
			changed.ResourceVersion = "1001"
			cache.deployment = changed
			wantSteady(t, a, Intent{Config: shop()}, !c.sent)
			wantSteady(t, newShopApplier(t, cache), Intent{Config: shop()}, !c.sent)
		})
	}
}

func addContainer(d *appsv1.Deployment) {
	d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "sidecar"})
}

func disown(entry *metav1.ManagedFieldsEntry, field string, instead ...string) {
	text := strings.Replace(entry.FieldsV1.GetRawString(), field, strings.Join(instead, ""), 1)
	entry.FieldsV1 = metav1.NewFieldsV1(text)
}

func wantSteady(t *testing.T, a *Applier, intent Intent, want bool) {
	t.Helper()
	outcome, err := a.Apply(t.Context(), intent)
	if steady := err == nil && outcome.Action == Unchanged && outcome.Attempts == 0; steady != want {
		t.Errorf("%+v, %v; want it steady: %v", outcome, err, want)
	}
	if !want && !errors.Is(err, errSent) {
		t.Errorf("it was to be sent: %v", err)
	}
}

// TestSteadyIntent is about what is asked, of an object as it should be.
func TestSteadyIntent(t *testing.T) {
	cache := &shopCache{}
	a := newShopApplier(t, cache)
	cache.deployment = applied(t, a)
	partial := &metav1.PartialObjectMetadata{ObjectMeta: *cache.deployment.ObjectMeta.DeepCopy()}
	partial.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	other := cache.deployment.DeepCopy()
	other.Name = "other"
	for name, c := range map[string]struct {
		intent Intent
		steady bool
	}{
		"as it is":            {Intent{Config: shop()}, true},
		"its uid":             {Intent{Config: shop(), UID: cache.deployment.UID}, true},
		"it must exist":       {Intent{Config: shop(), MustExist: true}, true},
		"it must exist, more": {Intent{Config: shop().WithLabels(map[string]string{"a": "b"}), MustExist: true}, false},
		"ours":                {Intent{Config: shop(), Belongs: isAnybodys}, true},
		"somebody else's":     {Intent{Config: shop(), Belongs: isNobodys}, false},
		"another uid":         {Intent{Config: shop(), UID: "another"}, false},
		"a field more":        {Intent{Config: shop().WithAnnotations(map[string]string{"a": "b"})}, false},
		"a field less":        {Intent{Config: appsv1ac.Deployment("web", "shop").WithLabels(shop().Labels)}, false},
		"the status":          {Intent{Config: appsv1ac.Deployment("web", "shop").WithStatus(appsv1ac.DeploymentStatus().WithReplicas(3)), Subresource: "status"}, false},
		"read by the caller":  {Intent{Config: shop(), Read: cache.deployment}, true},
		"metadata alone read": {Intent{Config: shop(), Read: partial}, false},
	} {
		t.Run(name, func(t *testing.T) { wantSteady(t, newShopApplier(t, cache), c.intent, c.steady) })
	}
	wantSteady(t, a, Intent{Config: shop()}, true)
	wantSteady(t, a, Intent{Config: shop(), Belongs: isNobodys}, false) // whatever was proven
	a = newShopApplier(t, cache)
	wantSteady(t, a, Intent{Config: shop()}, true)
	for _, read := range []client.Object{other, (*appsv1.Deployment)(nil)} {
		if _, err := a.Apply(t.Context(), Intent{Config: shop(), Read: read}); !errors.As(err, new(*IntentError)) {
			t.Errorf("read %v: %v", read, err)
		}
	}
}

func isAnybodys(client.Object) bool { return true }
func isNobodys(client.Object) bool  { return false }

// TestSteadyLeavesTheCacheAlone: what is read without a copy is not written to, and it is read once.
func TestSteadyLeavesTheCacheAlone(t *testing.T) {
	cache := &shopCache{}
	a := newShopApplier(t, cache)
	cache.deployment = applied(t, a)
	before := cache.deployment.DeepCopy()
	wantSteady(t, a, Intent{Config: shop()}, true)
	if cache.reads != 1 || cache.deployment.Kind != before.Kind || len(cache.deployment.ManagedFields) != len(before.ManagedFields) ||
		!maps.Equal(cache.deployment.Labels, before.Labels) {
		t.Errorf("%d reads, then %+v", cache.reads, cache.deployment)
	}
	before.ResourceVersion, before.Labels["tier"] = "1001", "other"
	cache.deployment = before
	wantSteady(t, a, Intent{Config: shop()}, false)
	if cache.reads != 2 {
		t.Errorf("%d reads for two applies", cache.reads)
	}
}

// TestSteadyZeroes: what a type leaves out when it is zero is no change, also when it is
// all that an intent sets.
func TestSteadyZeroes(t *testing.T) {
	a := newShopApplier(t, &shopCache{})
	for fields, spec := range map[string]map[string]any{
		`{"f:spec":{"f:unschedulable":{}}}`:                   {"unschedulable": false},
		`{"f:spec":{"f:unschedulable":{},"f:providerID":{}}}`: {"unschedulable": false, "providerID": "x"},
	} {
		intent := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "node"}, "spec": spec,
		}}
		read := &corev1.Node{Spec: corev1.NodeSpec{ProviderID: "x"}}
		read.Name, read.UID, read.ResourceVersion = "node", "uid-1", "1000"
		read.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: "shop", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1",
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
		}}
		wantSteady(t, a, Intent{Config: client.ApplyConfigurationFromUnstructured(intent), Read: read}, true)
		read = read.DeepCopy()
		read.Spec.Unschedulable = true
		read.ResourceVersion = "1001"
		wantSteady(t, a, Intent{Config: client.ApplyConfigurationFromUnstructured(intent), Read: read}, false)
	}
}

// TestSteadyPinned: what was proven of one object is not said of another one.
func TestSteadyPinned(t *testing.T) {
	cache := &shopCache{}
	a := newShopApplier(t, cache)
	cache.deployment = applied(t, a)
	wantSteady(t, a, Intent{Config: shop()}, true)
	wantSteady(t, a, Intent{Config: shop(), UID: cache.deployment.UID}, true)
	wantSteady(t, a, Intent{Config: shop(), UID: "another"}, false)
	cache.deployment = cache.deployment.DeepCopy() // made anew, and it has the version of the old one
	cache.deployment.UID, cache.deployment.ManagedFields = "another", nil
	wantSteady(t, a, Intent{Config: shop()}, false)
}

// TestSteadyFormShared: a form that differs was proven for one version. In the next one
// another manager may hold the same value, in the form that the server stores.
func TestSteadyFormShared(t *testing.T) {
	cache := &shopCache{}
	a := newShopApplier(t, cache)
	cache.deployment = applied(t, a)
	raw := &unstructured.Unstructured{Object: mustUnstructured(shop())}
	containers, _, _ := unstructured.NestedSlice(raw.Object, "spec", "template", "spec", "containers")
	limits, ok := containers[0].(map[string]any)
	if !ok || unstructured.SetNestedField(limits, "1000m", "resources", "requests", "cpu") != nil ||
		unstructured.SetNestedSlice(raw.Object, containers, "spec", "template", "spec", "containers") != nil {
		t.Fatal(raw)
	}
	intent := Intent{Config: client.ApplyConfigurationFromUnstructured(raw)}
	wantSteady(t, a, intent, true)
	shared := cache.deployment.DeepCopy()
	shared.ResourceVersion = "1001"
	wantSteady(t, a, Intent{Config: intent.Config, Read: shared}, true)
	shared = shared.DeepCopy()
	shared.ResourceVersion = "1002"
	shared.ManagedFields[0].FieldsV1 = metav1.NewFieldsV1(
		`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:resources":{"f:requests":{"f:cpu":{}}}}}}}}}`)
	wantSteady(t, a, Intent{Config: intent.Config, Read: shared}, false)
}

// TestMaySkip: an answer that is asked for is not to be had from the check, and neither is
// what a subresource with a kind of its own would do.
func TestMaySkip(t *testing.T) {
	a := newShopApplier(t, &shopCache{})
	for name, c := range map[string]struct {
		intent Intent
		dryRun bool
		want   bool
	}{
		"an object":           {Intent{Config: shop()}, false, true},
		"its status":          {Intent{Config: shop(), Subresource: "status"}, false, true},
		"another subresource": {Intent{Config: shop(), Subresource: "scale"}, false, false},
		"a body":              {Intent{Config: shop(), Subresource: "status", Body: shop()}, false, false},
		"a dry run":           {Intent{Config: shop()}, true, false},
	} {
		_, call := a.begin(t.Context(), c.intent)
		if call.dryRun = c.dryRun; call.maySkip() != c.want {
			t.Errorf("%s: want %v", name, c.want)
		}
	}
	a.config.Steady = nil
	if _, call := a.begin(t.Context(), Intent{Config: shop()}); call.maySkip() {
		t.Error("without the check")
	}
}
