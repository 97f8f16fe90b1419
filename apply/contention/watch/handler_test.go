package watch

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"coapply.dev/apply"
	"coapply.dev/apply/contention"
)

var deployments = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}

// ours is a kind of parents.
func ours(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: kind}
}

// newWatch has the parents Shop, Team, Rumour and, without a namespace, Region. It is added to
// no manager.
func newWatch(t *testing.T) *Watch {
	t.Helper()
	state, err := contention.New(contention.Config{Ours: func(name string) bool { return strings.HasPrefix(name, "shop-") || name == contention.FieldManager }})
	if err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	w := &Watch{state: state, mapper: mapper, parents: map[schema.GroupKind]schema.GroupVersionKind{}}
	for kind, scope := range map[string]meta.RESTScope{"Shop": meta.RESTScopeNamespace, "Team": meta.RESTScopeNamespace, "Region": meta.RESTScopeRoot} {
		mapper.Add(ours(kind), scope)
		w.parents[ours(kind).GroupKind()] = ours(kind)
	}
	w.parents[ours("Rumour").GroupKind()] = ours("Rumour") // whose scope nobody knows
	return w
}

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
			APIVersion: "example.com/v1", Kind: controller, Name: "mine", UID: "mine", Controller: new(true),
		}}
	}
	return object
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
		{"a Shop's", deployments, "Shop", apply.ObjectRef{
			GroupVersionKind: ours("Shop"), NamespacedName: types.NamespacedName{Namespace: "shop", Name: "mine"}, UID: "mine"}},
		{"a Region's, which has no namespace", deployments, "Region", apply.ObjectRef{
			GroupVersionKind: ours("Region"), NamespacedName: types.NamespacedName{Name: "mine"}, UID: "mine"}},
		{"a Rumour's, which may have one", deployments, "Rumour", apply.ObjectRef{
			GroupVersionKind: ours("Rumour"), NamespacedName: types.NamespacedName{Namespace: "shop", Name: "mine"}, UID: "mine"}},
		{"one of ours is its own, whoever controls it", ours("Team"), "Shop", apply.ObjectRef{
			GroupVersionKind: ours("Team"), NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}, UID: "x"}},
	} {
		w := watcher{test.kind, newWatch(t)}
		if got := w.object(owned("x", "m", test.controller)); got.Parent != test.want || got.UID != "x" {
			t.Errorf("%s: %+v", test.reason, got)
		}
		if !w.of.mu.TryLock() {
			t.Fatalf("%s: nobody can watch another kind any more", test.reason)
		}
		w.of.mu.Unlock()
	}
	foreign := owned("x", "m", "")
	foreign.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "r", UID: "r", Controller: new(true)}}
	if got := (watcher{deployments, newWatch(t)}).object(foreign); got.Parent != (apply.ObjectRef{}) {
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
		{"ours and a foreign one", "shop-x", "kubectl", "Shop", "Shop"},
		{"ours on a foreign object", "shop-x", "kubectl", "", "Deployment"},
		{"others on an object of ours", "hpa", "kubectl", "Shop", "Shop"},
		{"others on an object that is not ours", "hpa", "kubectl", "", ""},
	} {
		q := newQueue(t)
		w := watcher{deployments, newWatch(t)}
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
	q, w := newQueue(t), watcher{deployments, newWatch(t)}
	before, after := owned("x", "shop-x", ""), owned("x", "kubectl", "")
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
	if troubles, _, _ := w.of.state.Take(subject); troubles != nil {
		t.Errorf("of the one that is gone: %v", troubles)
	}
}

// TestConditionTaken has somebody else take our condition out, and write beside it.
func TestConditionTaken(t *testing.T) {
	for _, test := range []struct {
		reason, before, after string
		kind                  schema.GroupVersionKind
		looks                 bool
	}{
		{"taken over", "coapply-fights", "somebody", ours("Shop"), true},
		{"taken out", "coapply-fights", "", ours("Shop"), true},
		{"as it was", "coapply-fights", "coapply-fights", ours("Shop"), false},
		{"never ours", "somebody", "another", ours("Shop"), false},
		{"never ours, and taken out", "shop-web", "", ours("Shop"), false},
		{"of what bears none", "coapply-fights", "somebody", deployments, false},
	} {
		q := newQueue(t)
		w := watcher{test.kind, newWatch(t)}
		after := owned("x", test.after, "")
		if test.after == "" {
			after.ManagedFields = nil
		}
		w.changed(context.Background(), owned("x", test.before, ""), after, q)
		if (q.Len() == 1) != test.looks {
			t.Errorf("%s: %d to look at", test.reason, q.Len())
		}
	}
}

// TestUnreadable: the log says whose managed fields cannot be read, if they concern us.
func TestUnreadable(t *testing.T) {
	for _, test := range []struct {
		reason, before, after string
		said                  int
	}{
		{"ours", "shop-web", "shop-web", 1},
		{"ours before", "shop-web", "kubectl", 1},
		{"ours from now on", "kubectl", "shop-web", 1},
		{"nobody's", "kubectl", "kubectl", 0},
	} {
		said := 0
		ctx := logr.NewContext(t.Context(), funcr.New(func(string, string) { said++ }, funcr.Options{}))
		after := owned("x", test.after, "")
		after.ManagedFields[0].FieldsV1 = metav1.NewFieldsV1(`{"f:spec":`)
		watcher{deployments, newWatch(t)}.changed(ctx, owned("x", test.before, ""), after, newQueue(t))
		if said != test.said {
			t.Errorf("%s: %d lines", test.reason, said)
		}
	}
}

// TestLeftBehind has objects with and without our mark when the watch begins, or when they
// take the place of others.
func TestLeftBehind(t *testing.T) {
	for _, test := range []struct {
		reason   string
		kind     schema.GroupVersionKind
		manager  string
		replaces bool
		looks    bool
	}{
		{"marked", ours("Shop"), "coapply-fights", false, true},
		{"marked, in the place of another", ours("Shop"), "coapply-fights", true, true},
		{"never marked", ours("Shop"), "shop-web", false, false},
		{"not of ours", deployments, "coapply-fights", false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue(t)
			w := watcher{test.kind, newWatch(t)}
			if object := owned("x", test.manager, ""); test.replaces {
				w.changed(t.Context(), owned("y", "somebody", ""), object, q)
			} else {
				w.found(object, q)
			}
			time.Sleep(w.of.state.CoolDown - time.Second)
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
