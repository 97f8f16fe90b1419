package user

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"coapply.dev"
	"coapply.dev/apply/reconciler"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
)

func TestConditionOf(t *testing.T) {
	there, going := &corev1.Namespace{}, &corev1.Namespace{}
	going.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	failed := reconciler.Applied{Errs: []error{errors.New("it is someone else's")}}
	for _, test := range []struct {
		reason    string
		user      *v1alpha1.User
		namespace *corev1.Namespace
		applied   reconciler.Applied
		status    metav1.ConditionStatus
		message   string
	}{
		{"everything is applied", complete(), there, reconciler.Applied{}, metav1.ConditionTrue, "everything is applied"},
		{"nothing is in the Namespace yet", sample(), there, reconciler.Applied{}, metav1.ConditionUnknown, "are applied next"},
		{"refused", sample(), nil, failed, metav1.ConditionFalse, "someone else's"},
		{"being deleted", complete(), going, reconciler.Applied{}, metav1.ConditionFalse, "being deleted"},
		{"being deleted, and what was in it cannot be there", complete(), going, failed, metav1.ConditionFalse, "being deleted"},
	} {
		got := conditionOf(test.user, test.namespace, test.applied)
		if got.Status != test.status || !strings.Contains(got.Message, test.message) {
			t.Errorf("%s: %+v", test.reason, got)
		}
	}
}

// TestCreateTimeIsSetOnce: the change looks at the User as it is by then, and not at
// what the cache had.
func TestCreateTimeIsSetOnce(t *testing.T) {
	first, second := metav1.Unix(1_000, 0), metav1.Unix(2_000, 0)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "user-ada", CreationTimestamp: second,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: kind, Name: "ada", Controller: new(true)}},
	}}
	s := status{fake.NewClientBuilder().WithObjects(namespace).Build()}
	report, err := s.report(context.Background(), sample(), reconciler.Applied{}) // stale: has no createTime
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		latest *v1alpha1.User
		want   metav1.Time
	}{
		{sample(), second},
		{with(func(u *v1alpha1.User) { u.Status.AuditLog.CreateTime = &first }), first},
	} {
		for range 2 {
			if err := report.Change(test.latest); err != nil {
				t.Fatal(err)
			}
			if got := test.latest.Status; !got.AuditLog.CreateTime.Equal(&test.want) || got.Namespace != "user-ada" {
				t.Errorf("%+v, want createTime %v", got, test.want)
			}
		}
	}
}

func TestOwns(t *testing.T) {
	controlled := func(by, kind string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{
			APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: kind, Name: by, Controller: new(true),
		}}
	}
	namespace := func(name string, labels map[string]string, owners []metav1.OwnerReference) client.Object {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, OwnerReferences: owners}}
	}
	applied := func(object client.Object) client.Object {
		object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: fieldmanagers.User, Operation: metav1.ManagedFieldsOperationApply}})
		return object
	}
	labelled := map[string]string{OwnerLabel: "ada"}
	for _, test := range []struct {
		reason string
		object client.Object
		want   bool
	}{
		{"controlled by the User", namespace("user-ada", nil, controlled("ada", "User")), true},
		{"its owner reference was taken off", applied(namespace("user-ada", labelled, nil)), true},
		{"a label that anybody may set", namespace("user-ada", labelled, nil), false},
		{"made by hand", namespace("user-ada", nil, nil), false},
		{"another User's", namespace("user-ada", labelled, controlled("bob", "User")), false},
		{"another kind's", namespace("user-ada", labelled, controlled("ada", "License")), false},
		{"another name", namespace("team-ada", labelled, controlled("ada", "User")), false},
		{"no name", applied(namespace("user-", map[string]string{OwnerLabel: ""}, nil)), false},
		{"in the Namespace, made by hand", &corev1.ServiceAccount{
			ObjectMeta: metav1.ObjectMeta{Namespace: "user-ada", Name: Account}}, false},
		{"in the Namespace, the User's", &corev1.ServiceAccount{
			ObjectMeta: metav1.ObjectMeta{Namespace: "user-ada", Name: Account, OwnerReferences: controlled("ada", "User")}}, true},
	} {
		if got := Owns(test.object); got != test.want {
			t.Errorf("%s: %t", test.reason, got)
		}
	}
}

func TestWorthReconciling(t *testing.T) {
	for _, test := range []struct {
		reason string
		change func(*v1alpha1.User)
		want   bool
	}{
		{"the spec changed", func(u *v1alpha1.User) { u.Generation++ }, true},
		{"its Namespace is there", func(u *v1alpha1.User) { u.Status.Namespace = "user-ada" }, true},
		{"the rest of its status", func(u *v1alpha1.User) {
			u.Status.AuditLog.CreateTime = &metav1.Time{Time: time.Now()}
			u.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionApplied}}
			u.ResourceVersion = "2"
		}, false},
	} {
		update := event.UpdateEvent{ObjectOld: sample(), ObjectNew: with(test.change)}
		entries := []metav1.ManagedFieldsEntry{{Manager: fieldmanagers.User, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1("{}")}}
		update.ObjectOld.SetManagedFields(entries)
		update.ObjectNew.SetManagedFields(entries)
		if got := coapply.Relevant(fieldmanagers.User, dependsOn).Update(update); got != test.want {
			t.Errorf("%s: reconciles is %t", test.reason, got)
		}
	}
}
