package update_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/update"
)

func TestUnstructured(t *testing.T) {
	s := newServer(pod("example.com/keep"))
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	object.SetNamespace("ns")
	object.SetName("pod")
	set := func(o *unstructured.Unstructured) error {
		o.SetLabels(map[string]string{"mine": "yes"})
		return nil
	}
	result, err := update.Do(t.Context(), s.updater(t), object, set)
	if err != nil || result.Object.GetLabels()["mine"] != "yes" {
		t.Fatalf("result %+v, %v", result, err)
	}
	result.Object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "somebody"}})
	given := result.Object.DeepCopy()
	again, err := update.Do(t.Context(), s.updater(t), result.Object, set)
	if err != nil || again.Changed || s.sent() != "GET PUT" {
		t.Errorf("sent %q, %v; the second call has nothing to write", s.sent(), err)
	}
	if diff := cmp.Diff(given, result.Object); diff != "" {
		t.Errorf("the object handed in was written to (-before +after):\n%s", diff)
	}
	// A static type that is the interface does as well.
	byInterface, err := update.EnsureFinalizer[client.Object](t.Context(), s.updater(t), object, "example.com/mine")
	if err != nil || len(byInterface.Object.GetFinalizers()) != 2 {
		t.Errorf("result %+v, %v", byInterface, err)
	}
	_, err = update.Status(t.Context(), s.updater(t), object, func(o *unstructured.Unstructured) error {
		return unstructured.SetNestedField(o.Object, "said", "status", "message")
	})
	if err != nil {
		t.Error(err)
	}
	if len(s.untracked) != 3 || slices.Contains(s.untracked, true) {
		t.Error("a client whose reads are unstructured was told not to wait for its write")
	}
}

func TestNothingToWriteTo(t *testing.T) {
	s := newServer()
	u := s.updater(t)
	var none *corev1.Pod
	_, noPod := update.Do(t.Context(), u, none, label)
	_, noObject := update.Do[client.Object](t.Context(), u, nil, func(client.Object) error { return nil })
	_, noName := update.Do(t.Context(), u, &corev1.Pod{}, label)
	_, noKind := update.Do(t.Context(), u, &metav1.PartialObjectMetadata{}, func(*metav1.PartialObjectMetadata) error { return nil })
	for want, err := range map[string]error{
		"update: the object must be a pointer that is not nil": errors.Join(noPod, noObject), "update: the Pod has no name": noName,
		"update: looking up the kind of *v1.PartialObjectMetadata: ": noKind,
	} {
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error = %v, want %q", err, want)
		}
	}
	if noPod == nil || noObject == nil {
		t.Errorf("no object: %v, %v", noPod, noObject)
	}
	if s.sent() != "" {
		t.Errorf("sent %q", s.sent())
	}
}

// What a result says of its kind is what the object handed in says.
func TestKindOfTheResult(t *testing.T) {
	for _, kind := range []metav1.TypeMeta{{}, {APIVersion: "v1", Kind: "Pod"}} {
		s := newServer(pod())
		object := cached(t, s, pod())
		object.TypeMeta = kind
		for reason, mutate := range map[string]func(*corev1.Pod) error{"written": label, "as it is": func(*corev1.Pod) error { return nil }} {
			result, err := update.Do(t.Context(), s.updater(t), object, mutate)
			if err != nil || result.Object.TypeMeta != kind {
				t.Errorf("%s: %v, %v, want %v", reason, result.Object.TypeMeta, err, kind)
			}
		}
		if slices.Contains(s.untracked, false) {
			t.Error("a client that reads typed objects was not told so: it would watch unstructured ones")
		}
	}
}

// TestNothingOnTheWire: what Go tells apart and the server does not is no change, by what was read live as well.
func TestNothingOnTheWire(t *testing.T) {
	began := metav1.NewTime(time.Unix(1000, 0))
	live := pod()
	live.Status.StartTime = &began
	live.ManagedFields = []metav1.ManagedFieldsEntry{managedBy("somebody")}
	for reason, mutate := range map[string]func(*corev1.Pod) error{
		"no list, and an empty one":    func(p *corev1.Pod) error { p.Spec.Containers = []corev1.Container{}; return nil },
		"another part of the second":   func(p *corev1.Pod) error { p.Status.StartTime = &metav1.Time{Time: began.Add(1)}; return nil },
		"as it is, by the second read": func(*corev1.Pod) error { return nil },
	} {
		s := newServer(live.DeepCopy())
		name := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod"}}
		result, err := update.Status(t.Context(), s.updater(t), name, mutate)
		if err != nil || result.Changed || s.sent() != "GET" {
			t.Fatalf("%s: sent %q, changed %v, %v", reason, s.sent(), result.Changed, err)
		}
		if len(result.Object.ManagedFields) != 1 {
			t.Errorf("%s: the result looks as if nobody owned it", reason)
		}
	}
}

func managedBy(manager string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:theirs":{}}}}`),
	}
}

// unreadable answers with what is no Pod: reads, or writes.
type unreadable struct {
	client.Client

	reads bool
}

func (u unreadable) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := u.Client.Get(ctx, key, o, opts...)
	if raw, ok := o.(*unstructured.Unstructured); ok && u.reads {
		raw.Object["spec"] = "none"
	}
	return err
}

func (u unreadable) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	err := u.Client.Update(ctx, o, opts...)
	if raw, ok := o.(*unstructured.Unstructured); ok {
		raw.Object["spec"] = "none"
	}
	return err
}

func TestUnreadable(t *testing.T) {
	for reads, want := range map[bool]string{true: "GET: reading Pod ns/pod: decoding the object into *v1.Pod: ", false: "GET PUT: Pod ns/pod was written, but decoding the API server's response failed: "} {
		s := newServer(pod())
		c := unreadable{s.client, reads}
		u, err := update.New(update.Config{Client: c, LiveReader: c, FieldManager: "test"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = update.Do(t.Context(), u, cached(t, s, pod()), label)
		if err == nil || !strings.HasPrefix(s.sent()+": "+err.Error(), want) {
			t.Errorf("sent %q, %v, want %q", s.sent(), err, want)
		}
	}
}
