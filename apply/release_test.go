package apply_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
)

// ours is the deployment of which we own fields by Apply.
func ours(uid, resourceVersion string, subresources ...string) *appsv1.Deployment {
	d := web(uid, resourceVersion)
	for _, subresource := range subresources {
		d.ManagedFields = append(d.ManagedFields, entry(manager, "Apply", subresource, `{"f:spec":{"f:paused":{}}}`))
	}
	d.ManagedFields = append(d.ManagedFields, entry(manager, "Update", "", `{"f:spec":{"f:minReadySeconds":{}}}`))
	return d
}

func webAt(uid types.UID) apply.ObjectRef {
	object := webRef()
	object.UID, object.GroupVersionKind = uid, appsv1.SchemeGroupVersion.WithKind("Deployment")
	return object
}

func TestRelease(t *testing.T) {
	forged := ours("uid-1", "7")
	forged.ManagedFields = append(forged.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager, FieldsType: "FieldsV9"})
	twice := ours("uid-1", "7", "", "")
	twice.ManagedFields[2].APIVersion = "apps/v1beta1"
	for reason, test := range map[string]struct {
		object   apply.ObjectRef
		steps    []step
		want     apply.Action
		err      error
		attempts int
	}{
		"of the object read": {
			object: webAt(""), want: apply.Configured, attempts: 1,
			steps: []step{{"GET", ok(ours("uid-1", "7", ""))}, {"PATCH uid=uid-1", ok(web("uid-1", "8"))}},
		},
		"subresources first": {
			object: webAt("uid-1"), want: apply.Configured, attempts: 2,
			steps: []step{
				{"GET", ok(ours("uid-1", "7", "", "status"))},
				{"PATCH uid=uid-1", ok(ours("uid-1", "8", ""))}, {"PATCH uid=uid-1", ok(web("uid-1", "9"))},
			},
		},
		"nothing of ours is left by the time it is released": {
			object: webAt(""), want: apply.Unchanged, attempts: 1,
			steps: []step{{"GET", ok(ours("uid-1", "7", ""))}, {"PATCH uid=uid-1", ok(web("uid-1", "7"))}},
		},
		"two entries of ours": {
			object: webAt(""), want: apply.Configured, attempts: 1, // one apply gives up both
			steps: []step{{"GET", ok(twice)}, {"PATCH uid=uid-1", ok(web("uid-1", "8"))}},
		},
		"what is owned by Update stays": {
			object: webAt(""), want: apply.Unchanged,
			steps: []step{{"GET", ok(ours("uid-1", "7"))}},
		},
		"no managed fields": {
			object: webAt(""), want: apply.Unchanged,
			steps: []step{{"GET", ok(&appsv1.Deployment{TypeMeta: ours("", "").TypeMeta, ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "web", UID: "uid-1", ResourceVersion: "7",
			}})}},
		},
		"absent":    {object: webAt("uid-1"), want: apply.Absent, steps: []step{{"GET", notFound()}}},
		"recreated": {object: webAt("uid-0"), err: apply.ErrUIDMismatch, steps: []step{{"GET", ok(ours("uid-1", "7", ""))}}},
		"deleted meanwhile": {
			object: webAt("uid-1"), want: apply.Absent, attempts: 1,
			steps: []step{{"GET", ok(ours("uid-1", "7", ""))}, {"PATCH uid=uid-1", stale()}, {"GET", notFound()}},
		},
		"deleted meanwhile, of a subresource": {
			object: webAt("uid-1"), want: apply.Absent, attempts: 1,
			steps: []step{{"GET", ok(ours("uid-1", "7", "", "status"))}, {"PATCH uid=uid-1", notFound()}, {"GET", notFound()}},
		},
		"recreated meanwhile": {
			object: webAt(""), err: apply.ErrUIDMismatch, attempts: 1,
			steps: []step{{"GET", ok(ours("uid-1", "7", ""))}, {"PATCH uid=uid-1", otherUID()}},
		},
		"deleted, then recreated": {
			object: webAt(""), err: apply.ErrUIDMismatch, attempts: 1,
			steps: []step{{"GET", ok(ours("uid-1", "7", ""))}, {"PATCH uid=uid-1", stale()}, {"GET", ok(web("uid-2", "9"))}},
		},
		"a race inside the server": {
			object: webAt(""), err: apply.ErrRetryable, attempts: 1,
			steps: []step{{"GET", ok(ours("uid-1", "7", ""))}, {"PATCH uid=uid-1", stale()}, {"GET", ok(ours("uid-1", "9", ""))}},
		},
		"the object cannot be without our fields": {
			object: webAt(""), err: apply.ErrRefused, attempts: 1,
			steps: []step{{"GET", ok(ours("uid-1", "7", ""))}, {"PATCH uid=uid-1", invalid("required")}},
		},
		"managed fields of ours that nobody can read": {object: webAt(""), err: apply.ErrRefused, steps: []step{{"GET", ok(forged)}}},
		"no uid to pin to":                            {object: webAt(""), err: apply.ErrRefused, steps: []step{{"GET", ok(ours("", "7", ""))}}},
		"no answer":                                   {object: webAt(""), err: apply.ErrRetryable, steps: []step{{"GET", fail(apierrors.NewServiceUnavailable("no leader"))}}},
		"no name":                                     {object: apply.ObjectRef{GroupVersionKind: webAt("").GroupVersionKind}, err: apply.ErrInvalidIntent},
	} {
		t.Run(reason, func(t *testing.T) {
			s := newScript(t, test.steps)
			seen := &observations{}
			outcome, err := s.applierOver(s.restConfig(true), apply.Config{Metrics: seen}, nil).Release(t.Context(), test.object)
			if !errors.Is(err, test.err) || test.err == nil && err != nil {
				t.Fatalf("error %v, want %v", err, test.err)
			}
			result := string(test.want)
			if err != nil {
				result = apply.ResultOf(err)
			}
			got := fmt.Sprint(outcome.Action, outcome.Requests, outcome.Attempts, seen.results)
			if diff := cmp.Diff(fmt.Sprint(test.want, len(test.steps), test.attempts, []string{result}), got); diff != "" {
				t.Errorf("action, requests, attempts, observed (-want +got):\n%s", diff)
			}
			if outcome.Object.NamespacedName != test.object.NamespacedName {
				t.Errorf("outcome of %v", outcome.Object)
			}
			for _, body := range s.bodies {
				if want := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","uid":"uid-1"}}`; body != want {
					t.Errorf("sent %s, want %s", body, want)
				}
			}
		})
	}
}

// observations keeps the results observed.
type observations struct {
	ignoredUpdates

	results []string
}

func (o *observations) ObserveApply(seen apply.ApplyObservation) {
	o.results = append(o.results, seen.Result)
}
