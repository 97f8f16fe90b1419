package setup

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"coapply.dev/apply"
)

// TestWithin: nothing is applied in a Namespace that is not as it must be.
func TestWithin(t *testing.T) {
	namespace := func(name, label string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"ours": label}}}
	}
	going := namespace("going", "yes")
	going.Finalizers, going.DeletionTimestamp = []string{"example.com/hold"}, &metav1.Time{Time: metav1.Now().Time}
	c := withinOnly{Client: fake.NewClientBuilder().WithObjects(namespace("ours", "yes"), namespace("foreign", "no"), going).Build()}
	ours := func(namespace *corev1.Namespace) bool { return namespace.Labels["ours"] == "yes" }
	c.within = ours
	for _, test := range []struct {
		namespace string
		want      error
	}{
		{"ours", nil},
		{"foreign", apply.ErrNotOurs},
		{"going", errGoing("going")},
		{"absent", errNoNamespace},
	} {
		err := c.Apply(t.Context(), corev1ac.ConfigMap("a", test.namespace), client.FieldOwner("us"))
		if !errors.Is(err, test.want) && (err == nil || test.want == nil || err.Error() != test.want.Error()) {
			t.Errorf("%s: %v, want %v", test.namespace, err, test.want)
		}
	}
	if err := c.Apply(t.Context(), corev1ac.Namespace("foreign"), client.FieldOwner("us")); err != nil {
		t.Errorf("what is in no Namespace: %v", err)
	}
}

// TestMayWrite: the steady-state check must not find an object as wanted that an apply
// would be refused for.
func TestMayWrite(t *testing.T) {
	labels := map[string]string{"ours": "yes"}
	object := func(namespace, name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	r := mayWrite{withinOnly{
		Client: fake.NewClientBuilder().WithObjects(
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ours", Labels: labels}},
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}},
			object("ours", "a"), object("foreign", "a"),
		).Build(),
		within: func(namespace *corev1.Namespace) bool { return namespace.Labels["ours"] == "yes" },
	}}
	for _, test := range []struct {
		namespace, name string
		want            bool
	}{
		{"ours", "a", true},
		{"foreign", "a", false},
	} {
		err := r.Get(t.Context(), client.ObjectKey{Namespace: test.namespace, Name: test.name}, &corev1.ConfigMap{})
		if (err == nil) != test.want {
			t.Errorf("%s/%s: %v", test.namespace, test.name, err)
		}
	}
}
