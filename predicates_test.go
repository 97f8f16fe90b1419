package coapply_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"coapply.dev"
	"coapply.dev/apply/reconciler"
)

// TestRelevant: a kind without a generation, as ConfigMaps are, has no other sign of a change
// than its resourceVersion.
func TestRelevant(t *testing.T) {
	at := func(generation int64, version, paused string) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: generation, ResourceVersion: version,
			Annotations: map[string]string{reconciler.PausedAnnotation: paused},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "us", Operation: metav1.ManagedFieldsOperationUpdate,
				APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`)}}}}
	}
	for _, test := range []struct {
		reason   string
		old, new *appsv1.Deployment
		want     bool
	}{
		{"the spec", at(1, "1", ""), at(2, "2", ""), true},
		{"the status of others", at(1, "1", ""), at(1, "2", ""), false},
		{"the pause", at(1, "1", ""), at(1, "2", "true"), true},
		{"anything of a kind without a generation", at(0, "1", ""), at(0, "2", ""), true},
		{"nothing of a kind without a generation", at(0, "1", ""), at(0, "1", ""), false},
	} {
		p := coapply.Relevant[*appsv1.Deployment]("us")
		if got := p.Update(event.UpdateEvent{ObjectOld: test.old, ObjectNew: test.new}); got != test.want {
			t.Errorf("%s: comes through is %t", test.reason, got)
		}
	}
}

func TestLost(t *testing.T) {
	box := func(manager, fields string) *appsv1.Deployment {
		object := &appsv1.Deployment{}
		if fields != "" {
			object.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate,
				APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}}
		}
		return object
	}
	const one, two = `{"f:status":{"f:phase":{}}}`, `{"f:status":{"f:phase":{},"f:network":{}}}`
	for _, test := range []struct {
		reason   string
		old, new *appsv1.Deployment
		want     bool
	}{
		{"a field was taken", box("us", two), box("us", one), true},
		{"all were", box("us", one), box("them", one), true},
		{"what is kept was", box("us", one), box("us", `{"f:metadata":{}}`), true},
		{"as it was", box("us", two), box("us", two), false},
		{"we wrote more", box("us", one), box("us", two), false},
		{"nobody can tell: there are no managed fields", box("us", ""), box("us", ""), true},
		{"we own nothing", box("them", one), box("them", two), false},
		{"we wrote first", box("them", one), box("us", one), false},
		{"they cannot be read", box("us", one), box("us", `{"f:status":[]}`), true},
	} {
		if got := coapply.Relevant[*appsv1.Deployment]("us").Update(event.UpdateEvent{ObjectOld: test.old, ObjectNew: test.new}); got != test.want {
			t.Errorf("%s: comes through is %t", test.reason, got)
		}
	}
}

func TestBesidesStatus(t *testing.T) {
	at := func(version string, ready int32) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}, Status: appsv1.DeploymentStatus{ReadyReplicas: ready}}
	}
	for _, test := range []struct {
		reason   string
		old, new *appsv1.Deployment
		want     bool
	}{
		{"something was written, though nothing shows it", at("1", 1), at("2", 1), true},
		{"the status was written", at("1", 1), at("2", 2), false},
		{"nothing was written", at("1", 1), at("1", 1), false},
	} {
		p := coapply.BesidesStatus(func(d *appsv1.Deployment) any { return d.Status })
		if got := p.Update(event.UpdateEvent{ObjectOld: test.old, ObjectNew: test.new}); got != test.want {
			t.Errorf("%s: comes through is %t", test.reason, got)
		}
	}
}
