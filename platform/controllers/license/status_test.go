package license

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"coapply.dev"
	"coapply.dev/apply/reconciler"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
)

func readerOf(t *testing.T, objects ...client.Object) client.Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

// TestReport follows a License through its time, with a User and without one.
func TestReport(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	license := in("")
	license.Status = v1alpha1.LicenseStatus{}
	license.Spec.NotBefore = &metav1.Time{Time: begin}
	license.Spec.NotAfter = &metav1.Time{Time: begin.Add(time.Hour)}
	user := &v1alpha1.User{ObjectMeta: metav1.ObjectMeta{Name: "ada"}, Status: v1alpha1.UserStatus{Namespace: "user-ada"}}
	forged := user.DeepCopy()
	forged.Status.Namespace = "user-bob"
	for _, test := range []struct {
		reason string
		now    time.Time
		users  []client.Object
		want   string // phase, pods, namespace
		after  time.Duration
		status metav1.ConditionStatus
		event  string
	}{
		{"no User", begin, nil, "Active 5 ", time.Hour, metav1.ConditionUnknown, "Normal Active limits are now cpu=4,memory=8Gi,pods=5"},
		{"too early", begin.Add(-time.Minute), []client.Object{user}, "Pending 0 user-ada", time.Minute, metav1.ConditionUnknown, "Normal Pending limits are now cpu=4,memory=8Gi,pods=0"},
		{"it holds", begin, []client.Object{user}, "Active 5 user-ada", time.Hour, metav1.ConditionUnknown,
			"Normal Active limits are now cpu=4,memory=8Gi,pods=5"},
		{"the same again: it was emitted", begin, []client.Object{user}, "Active 5 user-ada", time.Hour, metav1.ConditionTrue, ""},
		{"it has ended", begin.Add(time.Hour), []client.Object{user}, "Expired 0 user-ada", 0, metav1.ConditionUnknown,
			"Warning Expired limits are now cpu=4,memory=8Gi,pods=0"},
		{"somebody made up the User's Namespace", begin.Add(time.Hour), []client.Object{forged}, "Expired 0 ", 0, metav1.ConditionUnknown, ""},
		{"the User went", begin.Add(time.Hour), nil, "Expired 0 ", 0, metav1.ConditionUnknown, ""},
	} {
		recorder := events.NewFakeRecorder(2)
		s := status{readerOf(t, test.users...), func() time.Time { return test.now }, recorder}
		report, err := s.report(context.Background(), license, reconciler.Applied{})
		if err != nil {
			t.Fatal(err)
		}
		if err := report.Change(license); err != nil {
			t.Fatal(err)
		}
		if err := report.Then(context.Background()); err != nil {
			t.Fatal(err)
		}
		close(recorder.Events)
		if event := <-recorder.Events; event != test.event || len(recorder.Events) > 0 {
			t.Errorf("%s: event %q, want %q", test.reason, event, test.event)
		}
		pods := license.Status.Limits[corev1.ResourcePods]
		got := strings.Join([]string{string(license.Status.Phase), pods.String(), license.Status.Namespace}, " ")
		if condition := license.Status.Conditions[0]; got != test.want || report.After != test.after || condition.Status != test.status {
			t.Errorf("%s: %q, again in %v, %+v; want %q, %v, %s", test.reason, got, report.After, condition, test.want, test.after, test.status)
		}
	}
}

// TestConditionTellsTrouble: what failed is told, unless it is out of date.
func TestConditionTellsTrouble(t *testing.T) {
	license := in(v1alpha1.LicenseActive)
	failed := reconciler.Applied{Errs: []error{errors.New("the quota is someone else's")}}
	same := license.Status
	same.Conditions = nil
	if got := conditionOf(license, same, failed); got.Status != metav1.ConditionFalse || !strings.Contains(got.Message, "someone else's") {
		t.Errorf("%+v", got)
	}
	without := same
	without.Namespace = ""
	if got := conditionOf(license, without, failed); got.Reason != "NoNamespace" {
		t.Errorf("%+v", got)
	}
}

func TestWorthReconciling(t *testing.T) {
	for _, test := range []struct {
		reason string
		change func(*v1alpha1.License)
		want   bool
	}{
		{"the spec changed", func(l *v1alpha1.License) { l.Generation++ }, true},
		{"the phase changed", func(l *v1alpha1.License) { l.Status.Phase = v1alpha1.LicenseExpired }, true},
		{"the limits changed", func(l *v1alpha1.License) { l.Status.Limits[corev1.ResourcePods] = resource.MustParse("6") }, true},
		{"the limits are spelt otherwise", func(l *v1alpha1.License) { l.Status.Limits[corev1.ResourceCPU] = resource.MustParse("4") }, false},
		{"the Namespace went", func(l *v1alpha1.License) { l.Status.Namespace = "" }, true},
		{"a finalizer came", func(l *v1alpha1.License) { l.Finalizers = []string{Finalizer} }, false},
		{"a condition came", func(l *v1alpha1.License) { l.Status.Conditions = []metav1.Condition{{Type: "Applied"}} }, false},
	} {
		update := event.UpdateEvent{ObjectOld: in(v1alpha1.LicenseActive), ObjectNew: with(test.change)}
		entries := []metav1.ManagedFieldsEntry{{Manager: fieldmanagers.License, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1("{}")}}
		update.ObjectOld.SetManagedFields(entries)
		update.ObjectNew.SetManagedFields(entries)
		if got := coapply.Relevant(fieldmanagers.License, dependsOn...).Update(update); got != test.want {
			t.Errorf("%s: reconciles is %t", test.reason, got)
		}
	}
}

func TestQuotaDrifted(t *testing.T) {
	quota := func(name string, change func(*corev1.ResourceQuota)) *corev1.ResourceQuota {
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "user-ada", Name: name}}
		change(quota)
		return quota
	}
	none := func(*corev1.ResourceQuota) {}
	limited := func(q *corev1.ResourceQuota) { q.Spec.Hard = in(v1alpha1.LicenseActive).Status.Limits }
	used := func(q *corev1.ResourceQuota) { q.Status.Used = in(v1alpha1.LicenseActive).Status.Limits }
	for _, test := range []struct {
		reason   string
		old, new *corev1.ResourceQuota
		want     bool
	}{
		{"its limits changed", quota(Quota, none), quota(Quota, limited), true},
		{"a pod was counted", quota(Quota, none), quota(Quota, used), false},
		{"another quota", quota("other", none), quota("other", limited), false},
	} {
		if got := quotaDrifted().Update(event.UpdateEvent{ObjectOld: test.old, ObjectNew: test.new}); got != test.want {
			t.Errorf("%s: reconciles is %t", test.reason, got)
		}
	}
}
