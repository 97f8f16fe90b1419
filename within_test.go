package coapply

import (
	"errors"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"coapply.dev/apply"
	"coapply.dev/internal/recent"
)

type clientOnly struct {
	ctrl.Manager

	client client.Client
}

func (m clientOnly) GetClient() client.Client    { return m.client }
func (m clientOnly) GetAPIReader() client.Reader { return m.client }

func withinOurs(objects ...client.Object) *Runtime {
	rt := &Runtime{watched: newWatched(), mgr: clientOnly{client: fake.NewClientBuilder().WithObjects(objects...).Build()}, looked: recent.New[string, struct{}](1), stripped: &atomic.Pointer[error]{}}
	return rt.Within(func(namespace *corev1.Namespace) bool { return namespace.Labels["ours"] == "yes" })
}

func namespace(name, label string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"ours": label}}}
}

// TestWithin: nothing is applied in a Namespace that is not as it must be.
func TestWithin(t *testing.T) {
	going := namespace("going", "yes")
	going.Finalizers, going.DeletionTimestamp = []string{"example.com/hold"}, &metav1.Time{Time: metav1.Now().Time}
	rt := withinOurs(namespace("ours", "yes"), namespace("foreign", "no"), going)
	c := sender{Client: rt.mgr.GetClient(), rt: rt}
	for _, test := range []struct {
		namespace string
		want      error
	}{
		{"ours", nil},
		{"foreign", apply.ErrNotOurs},
		{"going", errGoing("going")},
		{"absent", errNoNamespace},
	} {
		config := corev1ac.ConfigMap("a", test.namespace)
		patched := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: test.namespace, Name: "a"}}
		for verb, err := range map[string]error{
			"Apply": c.Apply(t.Context(), config, client.FieldOwner("us")),
			"Patch": c.Patch(t.Context(), patched, client.RawPatch("application/merge-patch+json", []byte(`{}`))),
		} {
			if !errors.Is(err, test.want) && (err == nil || test.want == nil || err.Error() != test.want.Error()) {
				t.Errorf("%s in %s: %v, want %v", verb, test.namespace, err, test.want)
			}
		}
	}
	if err := c.Apply(t.Context(), corev1ac.Namespace("foreign"), client.FieldOwner("us")); err != nil {
		t.Errorf("what is in no Namespace: %v", err)
	}
	status := c.Status().Apply(t.Context(), corev1ac.Pod("a", "foreign"), client.FieldOwner("us"))
	if !errors.Is(status, apply.ErrNotOurs) {
		t.Errorf("a status: %v", status)
	}
}

// TestWithinIsNotProven: the steady-state check must not find an object as wanted that an
// apply would be refused for.
func TestWithinIsNotProven(t *testing.T) {
	object := func(namespace string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
	}
	rt := withinOurs(namespace("ours", "yes"), namespace("foreign", "no"), object("ours"), object("foreign"))
	r := reader{Client: rt.mgr.GetClient(), rt: rt, fieldManager: "us"}
	for _, test := range []struct {
		namespace string
		want      bool
	}{
		{"ours", true},
		{"foreign", false},
	} {
		err := r.Get(t.Context(), client.ObjectKey{Namespace: test.namespace, Name: "a"}, &corev1.ConfigMap{})
		if (err == nil) != test.want {
			t.Errorf("%s: %v", test.namespace, err)
		}
	}
}
