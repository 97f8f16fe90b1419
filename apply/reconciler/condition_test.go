package reconciler_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/fieldowners"
)

func TestCondition(t *testing.T) {
	web := apply.ObjectRef{GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"), NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}
	conflict := &apply.ConflictError{FieldManager: "m", Conflicts: []apply.Conflict{{ServerPath: ".a"}}}
	reset := func(port string) error {
		return &apply.RetryableError{Err: errors.New("read 127.0.0.1:" + port + ": reset")}
	}
	unreachable := func(port string) error {
		return &apply.RetryableError{Object: web, Err: apierrors.NewInternalError(fmt.Errorf(
			`failed calling webhook "pods.example.com": failed to call webhook: Post "https://a.b.svc:443/?timeout=10s": read tcp 10.0.0.1:%s: reset`, port))}
	}
	contended := func(n int) error { return &apply.ContendedError{Attempts: n} }
	kubectl := fieldowners.Manager{Name: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "scale"}
	ci := fieldowners.Manager{Name: "ci", Operation: metav1.ManagedFieldsOperationApply}
	replicas, paused := fieldowners.MustParsePath(".spec.replicas"), fieldowners.MustParsePath(".spec.paused")
	owned := func(by fieldowners.Manager, paths ...fieldowners.Path) error {
		conflict := &apply.ConflictError{Object: web, FieldManager: "us"}
		for _, path := range paths {
			conflict.Conflicts = append(conflict.Conflicts, apply.Conflict{Path: path, Manager: by, Ours: 1, Theirs: 2})
		}
		return conflict
	}
	outcome := func(action apply.Action, kind string) (o apply.Outcome) {
		o.Action, o.Object.Kind = action, kind
		return o
	}
	for name, test := range map[string]struct {
		applied reconciler.Applied
		want    string
	}{
		"nothing": {reconciler.Applied{}, "True Applied everything is applied"},
		"stands": {reconciler.Applied{Outcomes: []apply.Outcome{outcome(apply.Created, ""), outcome(apply.Unchanged, "")}},
			"True Applied everything is applied"},
		"left to others": {reconciler.Applied{Outcomes: []apply.Outcome{{Object: web, Action: apply.Unchanged, Conflicts: []apply.Conflict{
			{Path: replicas, Manager: kubectl, Decision: apply.Relinquish, Remembered: true},
			{Path: replicas, Manager: kubectl, Decision: apply.Force}}}}},
			"True LeftToOthers applied, except for fields that are left to other field managers; .spec.replicas of Deployment shop/web is left to kubectl/Update[scale]"},
		"an Update owner": {reconciler.Applied{Errs: []error{owned(kubectl, replicas)}},
			"False OwnershipConflict ownership conflict on Deployment shop/web: us cannot set .spec.replicas to 1: owned by kubectl/Update[scale] with value 2; a retry would get the same conflict; " +
				"if kubectl no longer writes this field, run: kubectl fieldowners migrate deployment.apps/web --namespace shop --from kubectl --to us --path .spec.replicas --yes"},
		"an Apply owner": {reconciler.Applied{Errs: []error{owned(ci, replicas)}},
			"False OwnershipConflict ownership conflict on Deployment shop/web: us cannot set .spec.replicas to 1: owned by ci/Apply with value 2; a retry would get the same conflict; " +
				"to let us set .spec.replicas, remove this field from the configuration that ci applies"},
		"an Apply owner of several": {reconciler.Applied{Errs: []error{owned(ci, replicas, paused)}},
			"False OwnershipConflict ownership conflict on Deployment shop/web: us cannot set .spec.replicas to 1: owned by ci/Apply with value 2; .spec.paused to 1: owned by ci/Apply with value 2; a retry would get the same conflict; " +
				"to let us set .spec.replicas, .spec.paused, remove these fields from the configuration that ci applies"},
		"an Update of our own": {reconciler.Applied{Errs: []error{&apply.ConflictError{Object: web, FieldManager: "us", Conflicts: []apply.Conflict{
			{Path: replicas, Manager: fieldowners.Manager{Name: "us", Operation: metav1.ManagedFieldsOperationUpdate}, Own: true}}}}},
			"False OwnershipConflict ownership conflict on Deployment shop/web: us cannot set .spec.replicas, which has another path in the intent's apiVersion: " +
				"owned by us itself (by Update) (apiVersion ) with the value null; `kubectl fieldowners migrate deployment/web --from us --to us` merges the two owners into one"},
		"a conflict of the status": {reconciler.Applied{Errs: []error{&apply.ConflictError{Object: web, FieldManager: "us", Subresource: "status",
			Conflicts: []apply.Conflict{{Path: replicas, Manager: ci, Ours: 1, Theirs: 2}}}}},
			"False OwnershipConflict ownership conflict on Deployment shop/web (status): us cannot set .spec.replicas to 1: owned by ci/Apply with value 2; a retry would get the same conflict"},
		"forced beside what is rejected": {reconciler.Applied{Errs: []error{&apply.ConflictError{Object: web, FieldManager: "us",
			Conflicts: []apply.Conflict{{Path: replicas, Manager: ci, Ours: 1, Theirs: 2, Decision: apply.Force}, {Path: paused, Manager: ci, Ours: 1, Theirs: 2}}}}},
			"False OwnershipConflict ownership conflict on Deployment shop/web: us cannot set .spec.paused to 1: owned by ci/Apply with value 2; a retry would get the same conflict; " +
				"to let us set .spec.paused, remove this field from the configuration that ci applies"},
		"another value at the server": {reconciler.Applied{Outcomes: []apply.Outcome{{Object: web, Action: apply.Configured,
			Differ: []apply.Difference{{Path: replicas, Wanted: 1, Live: 2}}}}},
			"True NotAsWanted applied, but some fields are not as wanted; in Deployment shop/web, .spec.replicas is 2, not 1 as wanted: " +
				"changed by admission or the API server"},
		"as long as may be": {reconciler.Applied{Errs: []error{errors.New(strings.Repeat("x", 1024))}}, "False Error " + strings.Repeat("x", 1024)},
		"absent": {reconciler.Applied{Outcomes: []apply.Outcome{outcome(apply.Absent, "Deployment"), outcome(apply.Created, "")}},
			"Unknown Absent waiting for the Deployment to exist"},
		"conflict": {reconciler.Applied{Errs: []error{conflict}},
			"False OwnershipConflict ownership conflict on : m cannot set .a: owned by /; a retry would get the same conflict"},
		"conflict stands above": {reconciler.Applied{Errs: []error{errAny, conflict}},
			"False OwnershipConflict any; ownership conflict on : m cannot set .a: owned by /; a retry would get the same conflict"},
		"an error stands above absence": {
			reconciler.Applied{Errs: []error{errAny}, Outcomes: []apply.Outcome{outcome(apply.Absent, "Pod")}}, "False Error any"},
		"retryable": {reconciler.Applied{Errs: []error{reset("40001")}}, "False Retryable writing  failed with a transient error and is retried"},
		"a webhook that is down": {reconciler.Applied{Errs: []error{unreachable("40001")}}, "False Retryable writing Deployment shop/web failed with a transient error and is retried: " +
			`the API server could not call the admission webhook "pods.example.com"; check that its service runs`},
		"contended": {reconciler.Applied{Errs: []error{contended(17)}}, "False Contended  was not written, because other writers changed the object during each attempt; the write is retried"},
		"refused":   {reconciler.Applied{Errs: []error{&apply.RefusedError{Err: errAny}}}, "False Refused the request for  was refused: any"},
		"someone else's": {reconciler.Applied{Errs: []error{errAny, &apply.RefusedError{Err: apply.ErrNotOurs}}},
			"False NameTaken any; the request for  was refused: belongs to someone else"},
		"a Namespace that goes": {reconciler.Applied{Errs: []error{refusal(apierrors.NewBadRequest("no")), refusal(going())}},
			`False NamespaceTerminating the request for  was refused: no; the request for  was refused: configmaps "a" is forbidden: being terminated`},
		"long": {reconciler.Applied{Errs: []error{errors.New(strings.Repeat("名", 20000))}},
			"False Error " + strings.Repeat("名", 340) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			got := reconciler.Condition("Ready", 7, test.applied)
			if text := string(got.Status) + " " + got.Reason + " " + got.Message; text != test.want {
				t.Errorf("got  %s\nwant %s", text, test.want)
			}
			if got.Type != "Ready" || got.ObservedGeneration != 7 || !got.LastTransitionTime.IsZero() {
				t.Errorf("%+v", got)
			}
		})
	}
	for name, errs := range map[string][2]error{
		"port": {reset("40001"), reset("40002")}, "port of a webhook": {unreachable("40001"), unreachable("40002")}, "count": {contended(16), contended(17)},
	} {
		if a, b := condition(errs[0]), condition(errs[1]); a != b {
			t.Errorf("the same trouble reads differently by a %s: %v, %v", name, a, b)
		}
	}
}

func refusal(err error) error { return &apply.RefusedError{Err: err} }

// going is the answer of a Namespace that is being deleted.
func going() error {
	err := apierrors.NewForbidden(corev1.Resource("configmaps"), "a", errors.New("being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return err
}

func condition(err error) metav1.Condition {
	return reconciler.Condition("Ready", 7, reconciler.Applied{Errs: []error{err}})
}
