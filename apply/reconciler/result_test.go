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
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// When it is tried again, by what became of the two intents.
func TestRequeue(t *testing.T) {
	busy, busier := apierrors.NewTooManyRequests("busy", 10), apierrors.NewTooManyRequests("busy", 100)
	refused, taken := apierrors.NewBadRequest("no"), fmt.Errorf("it %w", apply.ErrNotOurs)
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
		"someone else's and refused":   {a: taken, b: refused, after: time.Second},
		"a Namespace that goes":        {a: going(), b: taken, after: time.Minute},
		"unavailable":                  {a: apierrors.NewServiceUnavailable("no leader"), err: apply.ErrRetryable},
		"refused":                      {a: refused, after: time.Second},
		"conflict and refused":         {a: conflictOver("k"), b: refused, after: time.Second},
		"busy and refused":             {a: busy, b: refused, after: 10 * time.Second},
		"refused and unavailable":      {a: refused, b: apierrors.NewServiceUnavailable(""), err: apply.ErrRetryable},
		"unavailable after a wait":     {a: busy, b: apierrors.NewServiceUnavailable(""), err: apply.ErrRetryable},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, withFinalizer())
			for _, name := range []string{"a", "b"} {
				w.owned(name, "k")
			}
			w.fails["apply a"], w.fails["apply b"] = test.a, test.b
			w.reporting(reconciler.Report[parentType]{After: time.Hour}) // later than any
			var log strings.Builder
			ctx := logr.NewContext(t.Context(), funcr.New(func(_, args string) { log.WriteString(args) }, funcr.Options{}))
			result, err := w.reconcile(ctx)
			if !errors.Is(err, test.err) || test.err == nil && err != nil {
				t.Errorf("error %v, want %v", err, test.err)
			}
			if after := result.RequeueAfter; after < test.after || after > test.after*6/5 {
				t.Errorf("after %v, want %v", after, test.after)
			}
			if logged := strings.Contains(log.String(), " could not be reconciled"); logged != (test.err == nil) {
				t.Errorf("what is no error of the reconcile is in the log, and what is one is not twice: %s", log.String())
			}
		})
	}
}

// What is logged has the number of errors; an error that is nil is none.
func TestRequeueCounts(t *testing.T) {
	for says, errs := range map[string][]error{
		`"1 object could not be reconciled"`:  {nil, &apply.ConflictError{}},
		`"2 objects could not be reconciled"`: {&apply.ConflictError{}, nil, &apply.ConflictError{}},
	} {
		var log strings.Builder
		ctx := logr.NewContext(t.Context(), funcr.New(func(_, args string) { log.WriteString(args) }, funcr.Options{}))
		if result, err := reconciler.Requeue(ctx, errs...); err != nil || result.RequeueAfter < time.Minute || !contains(log.String(), says) {
			t.Errorf("%+v, %v, %s; want %s", result, err, log.String(), says)
		}
	}
}

func TestEvents(t *testing.T) {
	w := newWorld(t, withFinalizer())
	w.owned("a", "k")
	w.owned("b", "taken")
	w.fails["apply a"], w.fails["apply b"] = conflictOver("k"), conflictOver("taken")
	w.config.Emit = func(parentType) ([]apply.Intent, error) {
		config := corev1ac.ConfigMap("b", "shop").WithData(map[string]string{"taken": "ours"})
		return append(emission("a"), apply.Intent{Config: config}), nil
	}
	if _, err := w.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`Warning OwnershipConflict ownership conflict on ConfigMap shop/a: test cannot set .data.k to "a": owned by other/Update with value "theirs"; a retry would get the same conflict`,
		`Normal OwnershipForced set .data.taken to "ours": owned by other/Update with value "theirs"`,
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
	w.config.Emit = func(parentType) ([]apply.Intent, error) {
		return []apply.Intent{{Config: corev1ac.ConfigMap("a", "shop").WithData(map[string]string{"taken": "ours"})}}, nil
	}
	if _, err := w.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{`Normal OwnershipForced set .data.taken to "ours": owned by b/Update with value "theirs"; number of further owners: 2`}
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
		if strings.Contains(args, "could not be reconciled") {
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
	w.fails["apply a"], w.fails["apply b"] = fmt.Errorf("it %w", apply.ErrNotOurs), going()
	if _, err := w.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"Warning NameTaken the request for ConfigMap shop/a was refused: it belongs to someone else"}
	if diff := cmp.Diff(want, w.told()); diff != "" {
		t.Errorf("events (-want +got):\n%s\nafter %s", diff, w)
	}
}

// A note is within the 1024 bytes of the events API, and valid UTF-8.
func TestLongEvents(t *testing.T) {
	recorder, whole := events.NewFakeRecorder(1), strings.Repeat("x", 1024)
	reconciler.Event(recorder, parent(), corev1.EventTypeNormal, "Whole", whole)
	if got := <-recorder.Events; got != "Normal Whole "+whole {
		t.Errorf("what fits is cut: %s", got)
	}
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
