package apply

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// Most controllers apply by a Patch of type apply. The test bodies below hold for such a Patch by
// a manager's client, and must hold for the drop-in client as well.
var dropInPatches = []struct {
	what string
	test func(*testing.T, *dropIn)
}{
	{"a patch of type apply creates, and the object holds the answer", func(t *testing.T, d *dropIn) {
		object := d.typedPage("1")
		d.mustPatch(t, object)
		live := get(t, d, "page", &corev1.ConfigMap{})
		if live == nil || object.UID != live.UID || object.ResourceVersion != live.ResourceVersion || object.Data["a"] != "1" {
			t.Errorf("live %v, answer %v", live, object)
		}
		if len(live.ManagedFields) != 1 || live.ManagedFields[0].Operation != metav1.ManagedFieldsOperationApply || live.ManagedFields[0].Manager != dropInManager {
			t.Errorf("managers %v", live.ManagedFields)
		}
	}},
	{"the same patch again changes nothing", func(t *testing.T, d *dropIn) {
		d.mustPatch(t, d.typedPage("1"))
		before := get(t, d, "page", &corev1.ConfigMap{})
		again := d.typedPage("1")
		d.mustPatch(t, again)
		if again.ResourceVersion != before.ResourceVersion || again.UID != before.UID {
			t.Errorf("live %v, answer %v", before, again)
		}
	}},
	{"an unstructured patch of type apply", func(t *testing.T, d *dropIn) {
		_, object := d.pageOf()
		d.mustPatch(t, object)
		if object.GetUID() == "" || object.GetKind() != "ConfigMap" || len(object.GetManagedFields()) == 0 {
			t.Errorf("the answer is %v", object)
		}
	}},
	{"a patch of one's own whose type is apply", func(t *testing.T, d *dropIn) {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: "page"}}
		if err := d.Patch(t.Context(), object, ownPatch{d.namespace}); err != nil || object.Data["a"] != "own" {
			t.Errorf("%v, %v", err, object.Data)
		}
	}},
	{"a patch of type apply in YAML", func(t *testing.T, d *dropIn) {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: "page"}}
		text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: page\n  namespace: %s\ndata:\n  a: yaml\n", d.namespace)
		if err := d.Patch(t.Context(), object, client.RawPatch(types.ApplyPatchType, []byte(text))); err != nil || object.Data["a"] != "yaml" {
			t.Errorf("%v, %v", err, object.Data)
		}
	}},
	{"a patch of type apply conflicts, and force takes", func(t *testing.T, d *dropIn) {
		d.ownedByOther(t)
		wantFieldConflict(t, d.Patch(t.Context(), d.typedPage("ours"), client.Apply), ".data.a", "other") //nolint:staticcheck // the spelling of most controllers
		d.mustPatch(t, d.typedPage("ours"), client.ForceOwnership)
		if got := get(t, d, "page", &corev1.ConfigMap{}).Data["a"]; got != "ours" {
			t.Errorf("data %q", got)
		}
	}},
	{"a patch of type apply under another field owner", func(t *testing.T, d *dropIn) {
		d.mustPatch(t, d.typedPage("1"), client.FieldOwner("second"))
		if got := writersOf(get(t, d, "page", &corev1.ConfigMap{})); !slices.Equal(got, []string{"second"}) {
			t.Errorf("managers %v", got)
		}
	}},
	{"a dry run of a patch of type apply creates nothing", func(t *testing.T, d *dropIn) {
		object := d.typedPage("1")
		d.mustPatch(t, object, client.DryRunAll)
		if object.UID == "" || get(t, d, "page", &corev1.ConfigMap{}) != nil {
			t.Errorf("the answer is %v", object)
		}
	}},
	{"a patch of type apply with an earlier resourceVersion is stale", func(t *testing.T, d *dropIn) {
		d.mustPatch(t, d.typedPage("1"))
		version := get(t, d, "page", &corev1.ConfigMap{}).ResourceVersion
		d.mustPatch(t, d.typedPage("2"))
		object := d.typedPage("3")
		object.ResourceVersion = version
		if err := d.Patch(t.Context(), object, client.Apply); !apierrors.IsConflict(err) { //nolint:staticcheck // as above
			t.Errorf("%v", err)
		}
	}},
	{"a patch of type apply without a kind, or of another object, is refused", func(t *testing.T, d *dropIn) {
		object := d.typedPage("1")
		object.TypeMeta = metav1.TypeMeta{}
		if err := d.Patch(t.Context(), object, client.Apply); !apierrors.IsBadRequest(err) { //nolint:staticcheck // as above
			t.Errorf("without a kind: %v", err)
		}
		other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: "other"}}
		if err := d.Patch(t.Context(), other, ownPatch{d.namespace}); !apierrors.IsBadRequest(err) {
			t.Errorf("of another object: %v", err)
		}
	}},
	{"a status is applied by a patch", func(t *testing.T, d *dropIn) {
		d.mustApply(t, kit.Shop("web", d.namespace))
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d.status(2))
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{Object: content}
		if err := d.Status().Patch(t.Context(), object, client.Apply); err != nil { //nolint:staticcheck // as above
			t.Fatal(err)
		}
		got := get(t, d, "web", &appsv1.Deployment{})
		if got.Status.ObservedGeneration != 2 || object.GetResourceVersion() != got.ResourceVersion {
			t.Errorf("status %+v, answer %+v", got.Status, object)
		}
	}},
	{"a scale is applied by a patch with a body", func(t *testing.T, d *dropIn) {
		d.mustApply(t, kit.Shop("web", d.namespace))
		scale := &autoscalingv1.Scale{
			TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"},
			ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: "web"}, Spec: autoscalingv1.ScaleSpec{Replicas: 5},
		}
		deployment := &appsv1.Deployment{ObjectMeta: scale.ObjectMeta}
		//nolint:staticcheck // as above
		err := d.SubResource("scale").Patch(t.Context(), deployment, client.Apply, client.ForceOwnership, client.WithSubResourceBody(scale))
		if got := get(t, d, "web", &appsv1.Deployment{}); err != nil || *got.Spec.Replicas != 5 || scale.ResourceVersion != got.ResourceVersion {
			t.Errorf("%v, %d replicas, answer %+v", err, *got.Spec.Replicas, scale)
		}
	}},
}

// ownPatch is an implementation of client.Patch, as some controllers have one.
type ownPatch struct{ namespace string }

// Type implements client.Patch.
func (ownPatch) Type() types.PatchType { return types.ApplyPatchType }

// Data implements client.Patch.
func (p ownPatch) Data(client.Object) ([]byte, error) {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"page","namespace":%q},"data":{"a":"own"}}`, p.namespace), nil
}

func (d *dropIn) typedPage(a string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: "page"}, Data: map[string]string{"a": a},
	}
}

func (d *dropIn) mustPatch(t *testing.T, object client.Object, opts ...client.PatchOption) {
	t.Helper()
	if err := d.Patch(t.Context(), object, client.Apply, opts...); err != nil { //nolint:staticcheck // as above
		t.Fatal(err)
	}
}

// TestDropInPatchAnswers: a patch of type apply that changes nothing sends no request. Afterwards
// the object holds the content that the API server would have returned.
func TestDropInPatchAnswers(t *testing.T) {
	t.Parallel()
	ours := startDropIn(t, true, apply.Policy{})
	plain := startDropIn(t, false, apply.Policy{})
	for _, test := range []struct {
		what   string
		object func() client.Object
	}{
		{"typed", func() client.Object { return ours.typedPage("1") }},
		{"unstructured", func() client.Object { _, object := ours.pageOf(); return object }},
	} {
		kit.WaitFor(t, "a patch that sends nothing", func() string {
			ours.recorder.Reset()
			ours.mustPatch(t, test.object())
			return map[bool]string{true: "it was sent"}[len(ours.recorder.Requests()) > 0]
		})
		got, want := test.object(), test.object()
		ours.recorder.Reset()
		ours.mustPatch(t, got)
		if n := len(ours.recorder.Requests()); n != 0 {
			t.Errorf("%s: %d requests; want none", test.what, n)
		}
		plain.mustPatch(t, want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -client.Client +coapply\n%s", test.what, diff)
		}
	}
}
