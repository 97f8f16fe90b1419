package apply_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"coapply.dev/apply"
)

// ignoredUpdates is embedded in the metrics of tests that only apply.
type ignoredUpdates struct{}

func (ignoredUpdates) ObserveUpdate(apply.UpdateObservation) {}

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
		intent apply.Intent
		steps  []step
		want   apply.ApplyObservation
	}{
		"forced and rejected": {
			intent: apply.Intent{Config: threeReplicas()},
			steps:  []step{{"PATCH", conflict(hpaReplicas, kubectlPause)}, {"GET", ok(web("uid-1", "7"))}},
			want: apply.ApplyObservation{Kind: kind, Result: "Conflict", Requests: 2, Attempts: 1,
				Conflicts: map[apply.Decision]int{apply.Force: 1, apply.Reject: 1}},
		},
		"client-go repeats": {
			intent: apply.Intent{Config: threeReplicas()},
			steps:  []step{{"PATCH", fail(apierrors.NewTooManyRequests("busy", 2))}, {"PATCH", created(web("uid-1", "7"))}},
			want: apply.ApplyObservation{Kind: kind, Result: "Created", Requests: 2, Attempts: 1,
				Conflicts: map[apply.Decision]int{}, Duration: 2 * time.Second},
		},
		"absent": {
			intent: apply.Intent{Config: threeReplicas(), MustExist: true},
			steps:  []step{{"GET", notFound()}},
			want:   apply.ApplyObservation{Kind: kind, Result: "Absent", Requests: 1, Conflicts: map[apply.Decision]int{}},
		},
		"invalid": {
			intent: apply.Intent{Config: appsv1ac.Deployment("", "shop")},
			want:   apply.ApplyObservation{Kind: kind, Result: "InvalidIntent", Conflicts: map[apply.Decision]int{}},
		},
		"nothing": {
			want: apply.ApplyObservation{Result: "InvalidIntent", Conflicts: map[apply.Decision]int{}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, metrics := newScript(t, test.steps), &observer{}
				config := apply.Config{Policy: forcesReplicas, Metrics: metrics}
				outcome, _ := s.applierOver(s.restConfig(true), config, cache{}).Apply(t.Context(), test.intent)
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
	config := newScript(t, nil).restConfig(false)
	config.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		switch {
		case r.Method == http.MethodGet, strings.Contains(r.URL.RawQuery, "force=true"):
			return ok(web("uid-1", "7"))(r)
		}
		return conflict(hpaReplicas)(r)
	})
	config.Wrap(apply.RecordExchange)
	applier := newScript(t, nil).applierOver(config, apply.Config{Policy: force}, nil)
	shared := threeReplicas()
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			for range 8 {
				outcome, err := applier.Apply(t.Context(), apply.Intent{Config: shared})
				if err != nil || outcome.Requests != 4 || outcome.Attempts != 3 || len(outcome.Conflicts) != 1 {
					t.Errorf("%+v, %v", outcome, err)
				}
			}
		})
	}
	wait.Wait()
}

// A request that passes two recorders is one request.
func TestRecordedTwice(t *testing.T) {
	s := newScript(t, []step{{"PATCH", ok(web("uid-1", "7"))}})
	config := s.restConfig(true)
	config.Wrap(apply.RecordExchange)
	outcome, err := s.applierOver(config, apply.Config{}, nil).Apply(t.Context(), apply.Intent{Config: threeReplicas()})
	if err != nil || outcome.Requests != 1 {
		t.Errorf("%d requests, %v", outcome.Requests, err)
	}
}
