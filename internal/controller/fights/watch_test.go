package fights

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/apply/contention"
)

var deployments = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}

func ours(kind string) schema.GroupVersionKind { return v1alpha1.SchemeGroupVersion.WithKind(kind) }

// owned is an object whose replicas a manager has.
func owned(uid, manager, controller string) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web", UID: types.UID(uid),
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "apps/v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`),
		}},
	}}
	if controller != "" {
		object.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: controller, Name: "mine", UID: "mine", Controller: new(true),
		}}
	}
	return object
}

func newState(t *testing.T) *contention.State {
	t.Helper()
	state, err := contention.New(Config())
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func newQueue(t *testing.T) queue {
	t.Helper()
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[apply.ObjectRef]())
	t.Cleanup(q.ShutDown)
	return q
}

func TestWhoseObject(t *testing.T) {
	for _, test := range []struct {
		reason     string
		kind       schema.GroupVersionKind
		controller string
		want       apply.ObjectRef
	}{
		{"nobody's", deployments, "", apply.ObjectRef{}},
		{"a Devbox's", deployments, "Devbox", apply.ObjectRef{
			GroupVersionKind: ours("Devbox"), NamespacedName: types.NamespacedName{Namespace: "shop", Name: "mine"}, UID: "mine"}},
		{"a User's, which has no namespace", deployments, "User", apply.ObjectRef{
			GroupVersionKind: ours("User"), NamespacedName: types.NamespacedName{Name: "mine"}, UID: "mine"}},
		{"one of ours is its own, whoever controls it", ours("NodeSet"), "SlurmController", apply.ObjectRef{
			GroupVersionKind: ours("NodeSet"), NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}, UID: "x"}},
	} {
		w := watcher{test.kind, map[string]bool{"User": true}, nil}
		if got := w.object(owned("x", "m", test.controller)); got.Parent != test.want || got.UID != "x" {
			t.Errorf("%s: %+v", test.reason, got)
		}
	}
	foreign := owned("x", "m", "")
	foreign.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "r", UID: "r", Controller: new(true)}}
	if got := (watcher{kind: deployments}).object(foreign); got.Parent != (apply.ObjectRef{}) {
		t.Errorf("a ReplicaSet's: %+v", got)
	}
}

// TestWatch has two managers take a field from each other.
func TestWatch(t *testing.T) {
	for _, test := range []struct {
		reason           string
		one, two, parent string
		want             string // the kind to look at
	}{
		{"ours and a foreign one", "coapply-x", "kubectl", "Devbox", "Devbox"},
		{"ours on a foreign object", "coapply-x", "kubectl", "", "Deployment"},
		{"others on an object of ours", "hpa", "kubectl", "Devbox", "Devbox"},
		{"none of our business", "hpa", "kubectl", "", ""},
	} {
		q := newQueue(t)
		w := watcher{deployments, nil, newState(t)}
		before, after := owned("x", test.one, test.parent), owned("x", test.two, test.parent)
		for range 8 {
			w.changed(context.Background(), before, after, q)
			before, after = after, before
		}
		if test.want == "" {
			if q.Len() != 0 {
				t.Errorf("%s: %d to look at", test.reason, q.Len())
			}
			continue
		}
		if q.Len() != 1 {
			t.Errorf("%s: %d to look at", test.reason, q.Len())
			continue
		}
		subject, _ := q.Get()
		q.Done(subject)
		if subject.Kind != test.want {
			t.Errorf("%s: look at %v", test.reason, subject)
		}
		if w.gone(after, q); q.Len() != 1 {
			t.Errorf("%s: nobody looks when it is gone", test.reason)
		}
	}
}

// TestAnotherOfItsName has an object that is fought about replaced between two looks.
func TestAnotherOfItsName(t *testing.T) {
	q, w := newQueue(t), watcher{deployments, nil, newState(t)}
	before, after := owned("x", "coapply-x", ""), owned("x", "kubectl", "")
	for range 8 {
		w.changed(context.Background(), before, after, q)
		before, after = after, before
	}
	subject, _ := q.Get()
	q.Done(subject)
	w.changed(context.Background(), before, owned("y", "kubectl", ""), q)
	if q.Len() != 1 {
		t.Fatalf("%d to look at, want the one that is gone", q.Len())
	}
	if troubles, _, _ := w.state.Take(subject); troubles != nil {
		t.Errorf("of the one that is gone: %v", troubles)
	}
}

// TestConditionTaken has somebody else take our condition out, and write beside it.
func TestConditionTaken(t *testing.T) {
	for _, test := range []struct {
		reason, before, after string
		looks                 bool
	}{
		{"taken out", "coapply-fights", "somebody", true},
		{"as it was", "coapply-fights", "coapply-fights", false},
		{"never ours", "somebody", "another", false},
	} {
		q := newQueue(t)
		w := watcher{ours("Devbox"), nil, newState(t)}
		w.changed(context.Background(), owned("x", test.before, ""), owned("x", test.after, ""), q)
		if (q.Len() == 1) != test.looks {
			t.Errorf("%s: %d to look at", test.reason, q.Len())
		}
	}
}

// TestLeftBehind has objects with and without our mark when the watch begins.
func TestLeftBehind(t *testing.T) {
	for _, test := range []struct {
		reason  string
		kind    schema.GroupVersionKind
		manager string
		looks   bool
	}{
		{"marked", ours("Devbox"), "coapply-fights", true},
		{"never marked", ours("Devbox"), "coapply-devbox-power", false},
		{"not of ours", deployments, "coapply-fights", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue(t)
			w := watcher{test.kind, nil, newState(t)}
			w.found(owned("x", test.manager, ""), q)
			time.Sleep(w.state.CoolDown - time.Second)
			synctest.Wait()
			if q.Len() != 0 {
				t.Errorf("%s: looked at before a fight could be found again", test.reason)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if (q.Len() == 1) != test.looks {
				t.Errorf("%s: %d to look at", test.reason, q.Len())
			}
			q.ShutDown()
		})
	}
}
