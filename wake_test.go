package coapply

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// ownedService is a child of the Shop "mine", with a node port of ours.
func ownedService(changes ...func(*corev1.Service)) *corev1.Service {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1", ResourceVersion: "1",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Shop", Name: "mine", UID: "parent", Controller: new(true)}},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "us", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1",
				FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:nodePort":{},"f:port":{},"f:protocol":{}}}}}`)}}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80, Protocol: "TCP", NodePort: 30080}}},
	}
	for _, change := range changes {
		change(service)
	}
	return service
}

func written(change func(*corev1.Service)) *corev1.Service {
	return ownedService(change, func(s *corev1.Service) { s.ResourceVersion = "2" })
}

// forms are those in which a cache may have a child. Of its metadata alone nobody can tell whether
// the values are as they were.
var forms = []struct {
	name     string
	of       func(*corev1.Service) client.Object
	metadata bool
}{
	{"typed", func(s *corev1.Service) client.Object { return s }, false},
	{"unstructured", func(s *corev1.Service) client.Object {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
		if err != nil {
			panic(err)
		}
		return &unstructured.Unstructured{Object: content}
	}, false},
	{"metadata", func(s *corev1.Service) client.Object { return &metav1.PartialObjectMetadata{ObjectMeta: s.ObjectMeta} }, true},
}

func TestWakes(t *testing.T) {
	for _, test := range []struct {
		reason string
		change func(*corev1.Service)
		want   bool
	}{
		{"a status", func(s *corev1.Service) { s.Status.Conditions = []metav1.Condition{{Type: "Seen"}} }, false},
		{"another's field", func(s *corev1.Service) { s.Spec.ExternalName = "x" }, false},
		{"another's annotation", func(s *corev1.Service) { s.Annotations = map[string]string{"a": "b"} }, false},
		{"another's item", func(s *corev1.Service) { s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Port: 90}) }, false},
		{"a value of ours, with the same owner", func(s *corev1.Service) { s.Spec.Type, s.Spec.Ports[0].NodePort = "ClusterIP", 0 }, true},
		{"an owner of ours", func(s *corev1.Service) { s.ManagedFields[0].Manager = "them" }, true},
		{"another version of our entry, with other values", func(s *corev1.Service) {
			s.ManagedFields[0].APIVersion, s.Spec.ExternalName = "v2", "x"
		}, true},
		{"another object of the name", func(s *corev1.Service) { s.UID = "2" }, true},
		{"its deletion", func(s *corev1.Service) { s.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, true},
		{"its owner", func(s *corev1.Service) { s.OwnerReferences[0].Controller = nil }, true},
		{"what is read", func(s *corev1.Service) { s.Spec.SessionAffinity = "ClientIP" }, true},
	} {
		for _, form := range forms {
			w := wakes{fieldManager: "us", apiVersion: "v1", parent: schema.GroupKind{Group: "example.com", Kind: "Shop"},
				settled: func(parent types.NamespacedName, uid types.UID) bool {
					return parent == types.NamespacedName{Namespace: "shop", Name: "mine"} && uid == "parent"
				}}
			if form.name == "typed" {
				w.reads = Reading(func(s *corev1.Service) any { return s.Spec.SessionAffinity }).(reading)
			} else if test.reason == "what is read" {
				continue
			}
			if got := w.Update(event.UpdateEvent{ObjectOld: form.of(ownedService()), ObjectNew: form.of(written(test.change))}); got != (test.want || form.metadata) {
				t.Errorf("%s, %s: wakes is %t", test.reason, form.name, got)
			}
		}
	}
}

// TestWakesUnlessCertain: where anything of the parent is open, each change of a child counts.
func TestWakesUnlessCertain(t *testing.T) {
	none := func(*corev1.Service) {}
	noted := func(s *corev1.Service) { s.Annotations = map[string]string{"a": "b"} }
	for _, test := range []struct {
		reason string
		change func(*corev1.Service)
		parent schema.GroupKind
		known  types.NamespacedName
		reads  reading
		want   bool
	}{
		{"settled", noted, schema.GroupKind{Group: "example.com", Kind: "Shop"}, types.NamespacedName{Namespace: "shop", Name: "mine"}, nil, false},
		{"settled, without a namespace", noted, schema.GroupKind{Group: "example.com", Kind: "Shop"}, types.NamespacedName{Name: "mine"}, nil, false},
		{"unknown", noted, schema.GroupKind{Group: "example.com", Kind: "Shop"}, types.NamespacedName{}, nil, true},
		{"another kind's child", noted, schema.GroupKind{Group: "example.com", Kind: "Team"}, types.NamespacedName{}, nil, false},
		{"read by another Go type", noted, schema.GroupKind{Group: "example.com", Kind: "Shop"}, types.NamespacedName{Namespace: "shop", Name: "mine"},
			Reading(func(c *corev1.ConfigMap) any { return c.Data }).(reading), true},
		{"nothing was written", func(s *corev1.Service) { s.ResourceVersion = "1" }, schema.GroupKind{Group: "example.com", Kind: "Shop"}, types.NamespacedName{}, nil, false},
	} {
		w := wakes{fieldManager: "us", apiVersion: "v1", parent: test.parent, reads: test.reads,
			settled: func(parent types.NamespacedName, _ types.UID) bool { return parent == test.known }}
		is := ownedService(func(s *corev1.Service) { s.ResourceVersion = "2" }, test.change)
		if got := w.Update(event.UpdateEvent{ObjectOld: ownedService(none), ObjectNew: is}); got != test.want {
			t.Errorf("%s: wakes is %t", test.reason, got)
		}
	}
	for reason, got := range map[string]bool{
		"a new child":   wakes{}.Create(event.CreateEvent{Object: ownedService()}),
		"a child's end": wakes{}.Delete(event.DeleteEvent{Object: ownedService()}),
	} {
		if !got {
			t.Errorf("%s does not wake", reason)
		}
	}
}
