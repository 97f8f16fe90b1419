package apply_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"coapply.dev/apply"
)

func TestContextEnds(t *testing.T) {
	for name, test := range map[string]struct {
		reason   string
		steps    func(end func()) []step
		requests int
		attempts int
	}{
		"before": {
			reason: "nothing is sent",
			steps:  func(end func()) []step { end(); return nil },
		},
		"during a request": {
			reason: "its answer is lost, nothing is sent after it",
			steps: func(end func()) []step {
				return []step{{"PATCH", func(r *http.Request) (*http.Response, error) { end(); return hangs(r) }}}
			},
			requests: 1, attempts: 1,
		},
		"during client-go's wait": {
			reason: "the server asked to wait; the context ends first",
			steps: func(end func()) []step {
				time.AfterFunc(time.Second, end)
				return []step{{"PATCH", fail(apierrors.NewTooManyRequests("busy", 60))}}
			},
			requests: 1, attempts: 1,
		},
		"after the first answer": {
			reason: "the conflict is not settled",
			steps: func(end func()) []step {
				return []step{{"PATCH", then(conflict(hpaReplicas), end)}}
			},
			requests: 1, attempts: 1,
		},
		"before the force": {
			reason: "judged, and not forced",
			steps: func(end func()) []step {
				return []step{
					{"PATCH", conflict(hpaReplicas)},
					{"GET", ok(web("uid-1", "7"))},
					{"PATCH", then(conflict(hpaReplicas), end)},
				}
			},
			requests: 3, attempts: 2,
		},
		"during the back-off": {
			reason: "not judged again",
			steps: func(end func()) []step {
				return []step{
					{"PATCH", conflict(hpaReplicas)},
					{"GET", ok(web("uid-1", "7"))},
					{"PATCH", conflict(hpaReplicas)},
					{"PATCH uid=uid-1 resourceVersion=7 force", func(r *http.Request) (*http.Response, error) {
						time.AfterFunc(time.Millisecond, end) // the wait is 2 ms at least
						return stale()(r)
					}},
				}
			},
			requests: 4, attempts: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancel(t.Context())
				defer end()
				outcome, err := newScript(t, test.steps(end)).applier(force, nil).
					Apply(ctx, apply.Intent{Config: threeReplicas()})
				if !errors.Is(err, context.Canceled) || apply.ResultOf(err) != "Cancelled" || outcome.Requests != test.requests || outcome.Attempts != test.attempts {
					t.Errorf("%s: %v (%s) after %d requests of %d attempts", test.reason, err, apply.ResultOf(err), outcome.Requests, outcome.Attempts)
				}
			})
		})
	}
}

func then(a answer, do func()) answer {
	return func(request *http.Request) (*http.Response, error) {
		defer do()
		return a(request)
	}
}
