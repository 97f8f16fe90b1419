package apply_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit/memory"
)

// observer keeps what is observed.
type observer struct {
	ignoredUpdates

	seen []apply.ApplyObservation
}

func (o *observer) ObserveApply(seen apply.ApplyObservation) { o.seen = append(o.seen, seen) }

// Each Apply is one observation, whatever became of it.
func TestObservation(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	for name, test := range map[string]struct {
		intent  apply.Intent
		happens func(*world)
		want    apply.ApplyObservation
	}{
		"forced and rejected": {
			intent: apply.Intent{Config: replicasAndPause()}, happens: func(*world) {},
			want: apply.ApplyObservation{Kind: kind, Result: "Conflict", Requests: 2, Attempts: 1,
				Conflicts: map[apply.Decision]int{apply.Force: 1, apply.Reject: 1}},
		},
		"client-go repeats": {
			intent: apply.Intent{Config: wholeWeb()}, happens: allOf(removed, fails(1, apierrors.NewTooManyRequests("busy", 2))),
			want: apply.ApplyObservation{Kind: kind, Result: "Created", Requests: 2, Attempts: 1,
				Conflicts: map[apply.Decision]int{}, Duration: 2 * time.Second},
		},
		"absent": {
			intent: apply.Intent{Config: threeReplicas(), MustExist: true}, happens: removed,
			want: apply.ApplyObservation{Kind: kind, Result: "Absent", Requests: 1, Conflicts: map[apply.Decision]int{}},
		},
		"invalid": {
			intent: apply.Intent{Config: appsv1ac.Deployment("", "shop")}, happens: func(*world) {},
			want: apply.ApplyObservation{Kind: kind, Result: "InvalidIntent", Conflicts: map[apply.Decision]int{}},
		},
		"nothing": {
			happens: func(*world) {}, want: apply.ApplyObservation{Result: "InvalidIntent", Conflicts: map[apply.Decision]int{}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, metrics := newWorld(t), &observer{}
				allOf(notCached, test.happens)(w)
				outcome, _ := w.applierOf(apply.Config{Policy: forcesReplicas, Metrics: metrics}).Apply(t.Context(), test.intent)
				test.want.FieldManager, test.want.Object = manager, outcome.Object
				if diff := cmp.Diff([]apply.ApplyObservation{test.want}, metrics.seen); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Words for metrics, one a class, whatever the error wraps.
func TestResultOf(t *testing.T) {
	for want, err := range map[string]error{
		"Success":     nil,
		"Conflict":    &apply.ConflictError{Err: errOwnership},
		"Contended":   &apply.ContendedError{Err: &apply.StaleWriteError{Err: errStale}},
		"UIDMismatch": &apply.UIDMismatchError{Err: errStale},
		"StaleWrite":  &apply.StaleWriteError{Err: errOwnership},
		"Retryable":   &apply.RetryableError{Err: http.ErrHandlerTimeout},
		"Refused":     &apply.RefusedError{Err: errors.New("any")},
		"Cancelled":   context.DeadlineExceeded,
		"Error":       errors.New("any"),
	} {
		if got := apply.ResultOf(err); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}

// What one Apply sends is not counted for another, and an applier may be shared.
func TestConcurrentApplies(t *testing.T) {
	w := newEmptyWorld(t)
	applier := w.applier(force)
	var wait sync.WaitGroup
	for i := range 16 {
		web := memory.NewWeb()
		web.Name = fmt.Sprint("web-", i)
		w.Must(w.Create(t.Context(), web, client.FieldOwner("hpa")))
		wait.Go(func() {
			outcome, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas().WithName(web.Name)})
			if err != nil || outcome.Requests != 4 || outcome.Attempts != 3 || len(outcome.Conflicts) != 1 {
				t.Errorf("%+v, %v", outcome, err)
			}
		})
	}
	wait.Wait()
}
