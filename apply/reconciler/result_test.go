package reconciler_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/fieldowners"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// When it is tried again, by what became of the two intents.
func TestRequeue(t *testing.T) {
	busy, busier := apierrors.NewTooManyRequests("busy", 10), apierrors.NewTooManyRequests("busy", 100)
	refused, taken := apierrors.NewBadRequest("no"), fmt.Errorf("it is %w", apply.ErrNotOurs)
	for name, test := range map[string]struct {
		a, b  error
		after time.Duration // at least, and at most a fifth more
		err   error
	}{
		"conflict":                     {a: conflictOver("k"), after: time.Minute},
		"two conflicts":                {a: conflictOver("k"), b: conflictOver("k"), after: time.Minute},
		"busy":                         {b: busy, after: 10 * time.Second},
		"twice busy":                   {a: busy, b: busier, after: 100 * time.Second},
		"twice busy, the longer first": {a: busier, b: busy, after: 100 * time.Second},
		"conflict and busy":            {a: conflictOver("k"), b: busy, after: 10 * time.Second},
		"someone else's":               {a: taken, after: time.Minute},
		"someone else's and refused":   {a: taken, b: refused, err: apply.ErrRefused},
		"a Namespace that goes":        {a: going(), b: taken, after: time.Minute},
		"unavailable":                  {a: apierrors.NewServiceUnavailable("no leader"), err: apply.ErrRetryable},
		"refused":                      {a: refused, err: apply.ErrRefused},
		"conflict and refused":         {a: conflictOver("k"), b: refused, err: apply.ErrRefused},
		"busy and refused":             {a: busy, b: refused, err: apply.ErrRefused},
		"refused and unavailable":      {a: refused, b: apierrors.NewServiceUnavailable(""), err: apply.ErrRetryable},
		"unavailable after a wait":     {a: busy, b: apierrors.NewServiceUnavailable(""), err: apply.ErrRetryable},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, withFinalizer())
			for _, name := range []string{"a", "b"} {
				w.owned(name, "k")
			}
			w.fails["apply a"], w.fails["apply b"] = test.a, test.b
			var log strings.Builder
			ctx := logr.NewContext(t.Context(), funcr.New(func(_, args string) { log.WriteString(args) }, funcr.Options{}))
			result, err := w.reconcile(ctx)
			if !errors.Is(err, test.err) || test.err == nil && err != nil {
				t.Errorf("error %v, want %v", err, test.err)
			}
			if after := result.RequeueAfter; after < test.after || after > test.after*6/5 {
				t.Errorf("after %v, want %v", after, test.after)
			}
			if logged := strings.Contains(log.String(), " not applied"); logged != (test.err == nil) {
				t.Errorf("what is no error of the reconcile is in the log, and what is one is not twice: %s", log.String())
			}
		})
	}
}

func TestEvents(t *testing.T) {
	w := newWorld(t, withFinalizer())
	w.owned("a", "k")
	w.owned("b", "taken")
	w.fails["apply a"], w.fails["apply b"] = conflictOver("k"), conflictOver("taken")
	w.config.Emit = func(parentType) (reconciler.Emission, error) {
		e := emission("a")
		config := corev1ac.ConfigMap("b", "shop").WithData(map[string]string{"taken": "ours"})
		e.Intents = append(e.Intents, apply.Intent{Config: config})
		return e, nil
	}
	if _, err := w.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`Warning OwnershipConflict ownership conflict on ConfigMap shop/a: test cannot set .data.k to "a": owned by other/Update with "theirs"`,
		`Normal OwnershipForced set .data.taken to "ours": owned by other/Update with "theirs"`,
	}
	if diff := cmp.Diff(want, w.told()); diff != "" {
		t.Errorf("events (-want +got):\n%s\nafter %s", diff, w)
	}
	w.config.Events = nil // nobody is told
	if _, err := w.reconcile(t.Context()); err != nil {
		t.Error(err)
	}
}

// A field with several owners is one event.
func TestEventOfManyOwners(t *testing.T) {
	w := newWorld(t, withFinalizer())
	w.owned("a", "taken")
	var causes []metav1.StatusCause
	for _, owner := range []string{"other", "b", "c"} {
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Field: ".data.taken",
			Message: fmt.Sprintf("conflict with %q using v1", owner)})
		if owner != "other" {
			shared := corev1ac.ConfigMap("a", "shop").WithData(map[string]string{"taken": "theirs"})
			w.must(w.store.Apply(t.Context(), shared, client.FieldOwner(owner)))
		}
	}
	w.fails["apply a"] = apierrors.NewApplyConflict(causes, "Apply failed with 3 conflicts")
	w.config.Emit = func(parentType) (reconciler.Emission, error) {
		return reconciler.Emission{Intents: []apply.Intent{{Config: corev1ac.ConfigMap("a", "shop").WithData(map[string]string{"taken": "ours"})}}}, nil
	}
	if _, err := w.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{`Normal OwnershipForced set .data.taken to "ours": owned by b/Update with "theirs"; managers that own it as well: 2`}
	if diff := cmp.Diff(want, w.told()); diff != "" {
		t.Errorf("events (-want +got):\n%s\nafter %s", diff, w)
	}
}

// TestConflictThatStays: it is told and logged once, again when it changes, and anew when
// it comes back.
func TestConflictThatStays(t *testing.T) {
	w := newWorld(t, withFinalizer())
	r, err := reconciler.New(w.config)
	w.must(err)
	logged := 0
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, args string) {
		if strings.Contains(args, "not applied") {
			logged++
		}
	}, funcr.Options{}))
	both := []string{"a", "b"}
	for i, step := range []struct {
		conflicts []string
		want      int // events and lines more
	}{{both, 2}, {both, 0}, {both, 0}, {both[:1], 1}, {both[:1], 0}, {nil, 0}, {both[:1], 1}} {
		clear(w.fails)
		for _, name := range step.conflicts {
			w.fails["apply "+name] = conflictOver("k")
		}
		for _, name := range both { // the others are gone from what is free, and back in what is not
			w.must(client.IgnoreNotFound(w.store.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}})))
			if slices.Contains(step.conflicts, name) {
				w.owned(name, "k")
			}
		}
		before := logged
		if _, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		told := slices.DeleteFunc(w.told(), func(event string) bool { return !strings.Contains(event, "OwnershipConflict") })
		if len(told) != step.want || (logged > before) != (step.want > 0) {
			t.Errorf("%d: told %q, and logged %d lines", i, told, logged-before)
		}
	}
}

// What is someone else's is told, and what a Namespace that goes refuses is not.
func TestEventsOfRefusals(t *testing.T) {
	w := newWorld(t, withFinalizer())
	w.fails["apply a"], w.fails["apply b"] = fmt.Errorf("it is %w", apply.ErrNotOurs), going()
	if _, err := w.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"Warning NameTaken ConfigMap shop/a is refused: it is someone else's"}
	if diff := cmp.Diff(want, w.told()); diff != "" {
		t.Errorf("events (-want +got):\n%s\nafter %s", diff, w)
	}
}

// A note is within the 1024 bytes of the events API, and valid UTF-8.
func TestLongEvents(t *testing.T) {
	for shift := range 4 { // a cut at each place of a character
		field := strings.Repeat("x", shift) + strings.Repeat("名", 1000)
		w := newWorld(t, withFinalizer())
		w.owned("a", "k")
		w.fails["apply a"] = conflictOver(field)
		if _, err := w.reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		note := strings.TrimPrefix(w.told()[0], "Warning OwnershipConflict ")
		if len(note) > 1024 || len(note) < 1018 || !utf8.ValidString(note) || !strings.HasSuffix(note, "名…") {
			t.Errorf("%d bytes: %s", len(note), note)
		}
	}
}

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
	ci, us := fieldowners.Manager{Name: "ci", Operation: metav1.ManagedFieldsOperationApply}, fieldowners.Manager{Name: "us", Operation: metav1.ManagedFieldsOperationApply}
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
			"True LeftToOthers applied, but for fields that are left to others; .spec.replicas of Deployment shop/web is left to kubectl/Update[scale]"},
		"shared": {reconciler.Applied{Outcomes: []apply.Outcome{{Object: web, Action: apply.Unchanged, Shared: []fieldowners.Shared{
			{Path: replicas, By: us, With: kubectl}}}}},
			"True Shared everything is applied; .spec.replicas of Deployment shop/web is shared with kubectl/Update[scale], so that another value will be rejected; " +
				"if kubectl does not write there any more: kubectl fieldowners migrate deployment.apps/web --namespace shop --from kubectl --to us --path .spec.replicas --yes"},
		"several are shared": {reconciler.Applied{Outcomes: []apply.Outcome{{Object: web, Action: apply.Unchanged, Shared: []fieldowners.Shared{
			{Path: replicas, By: us, With: kubectl}, {Path: paused, By: us, With: kubectl}}}}},
			"True Shared everything is applied; .spec.replicas, .spec.paused of Deployment shop/web are shared with kubectl/Update[scale], so that another value will be rejected; " +
				"if kubectl does not write there any more: kubectl fieldowners migrate deployment.apps/web --namespace shop --from kubectl --to us --path .spec.replicas --path .spec.paused --yes"},
		"an Update owner": {reconciler.Applied{Errs: []error{owned(kubectl, replicas)}},
			"False OwnershipConflict ownership conflict on Deployment shop/web: us cannot set .spec.replicas to 1: owned by kubectl/Update[scale] with 2; " +
				"if kubectl does not write there any more: kubectl fieldowners migrate deployment.apps/web --namespace shop --from kubectl --to us --path .spec.replicas --yes"},
		"an Apply owner": {reconciler.Applied{Errs: []error{owned(ci, replicas)}},
			"False OwnershipConflict ownership conflict on Deployment shop/web: us cannot set .spec.replicas to 1: owned by ci/Apply with 2; " +
				"to let us set .spec.replicas, take it out of what ci applies"},
		"an Apply owner of several": {reconciler.Applied{Errs: []error{owned(ci, replicas, paused)}},
			"False OwnershipConflict ownership conflict on Deployment shop/web: us cannot set .spec.replicas to 1: owned by ci/Apply with 2; .spec.paused to 1: owned by ci/Apply with 2; " +
				"to let us set .spec.replicas, .spec.paused, take them out of what ci applies"},
		"absent": {reconciler.Applied{Outcomes: []apply.Outcome{outcome(apply.Absent, "Deployment"), outcome(apply.Created, "")}},
			"Unknown Absent waiting for the Deployment to exist"},
		"conflict": {reconciler.Applied{Errs: []error{conflict}},
			"False OwnershipConflict ownership conflict on : m cannot set .a: owned by /"},
		"conflict stands above": {reconciler.Applied{Errs: []error{errAny, conflict}},
			"False OwnershipConflict any; ownership conflict on : m cannot set .a: owned by /"},
		"an error stands above absence": {
			reconciler.Applied{Errs: []error{errAny}, Outcomes: []apply.Outcome{outcome(apply.Absent, "Pod")}}, "False Error any"},
		"retryable": {reconciler.Applied{Errs: []error{reset("40001")}}, "False Retryable writing  failed for the moment"},
		"a webhook that is down": {reconciler.Applied{Errs: []error{unreachable("40001")}}, "False Retryable writing Deployment shop/web failed for the moment: " +
			`the API server could not call the admission webhook "pods.example.com"; check that its service runs`},
		"contended": {reconciler.Applied{Errs: []error{contended(17)}}, "False Contended  is changed by others all the time"},
		"refused":   {reconciler.Applied{Errs: []error{&apply.RefusedError{Err: errAny}}}, "False Refused  is refused: any"},
		"someone else's": {reconciler.Applied{Errs: []error{errAny, &apply.RefusedError{Err: apply.ErrNotOurs}}},
			"False NameTaken any;  is refused: someone else's"},
		"a Namespace that goes": {reconciler.Applied{Errs: []error{refusal(apierrors.NewBadRequest("no")), refusal(going())}},
			`False NamespaceTerminating  is refused: no;  is refused: configmaps "a" is forbidden: being terminated`},
		"long": {reconciler.Applied{Errs: []error{errors.New(strings.Repeat("名", 20000))}},
			"False Error " + strings.Repeat("名", 1024) + "…"},
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
