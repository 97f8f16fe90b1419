package apply_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
)

// answered changes each answer of the server to the client under test, as a proxy or a network does.
func (w *world) answered(change func(*http.Request, *http.Response) (*http.Response, error)) {
	w.wrap = append(w.wrap, func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			if err != nil {
				return nil, err
			}
			return change(request, response)
		})
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// breaks breaks the connection.
func breaks(err error) func(*world) {
	return func(w *world) {
		w.answered(func(*http.Request, *http.Response) (*http.Response, error) { return nil, err })
	}
}

// brokenOff breaks the connection within the body.
func brokenOff(w *world) {
	w.answered(func(_ *http.Request, response *http.Response) (*http.Response, error) {
		response.Body = io.NopCloser(io.MultiReader(io.LimitReader(response.Body, 20), iotest.ErrReader(io.ErrUnexpectedEOF)))
		return response, nil
	})
}

// html is the page of a proxy.
func html(status int) func(*world) {
	return func(w *world) {
		w.answered(func(_ *http.Request, response *http.Response) (*http.Response, error) {
			response.StatusCode, response.Header = status, http.Header{"Content-Type": {"text/html"}}
			response.Body = io.NopCloser(strings.NewReader("<html>"))
			return response, nil
		})
	}
}

func TestFailures(t *testing.T) {
	one := func(reason string, class error, happens ...func(*world)) scene {
		s := scene{reason: reason, happens: allOf(append([]func(*world){alone}, happens...)...), err: class, attempts: 1, sent: []string{whole}}
		if errors.Is(class, apply.ErrRetryable) { // tried three times
			s.sent, s.attempts = []string{whole, whole, whole}, 3
		}
		return s
	}
	unknown := loose(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": "shop"},
		"spec": map[string]any{"x": "y"}})
	invalid := threeReplicas()
	invalid.Spec.WithReplicas(-1)
	elsewhere := wholeWeb().WithNamespace("nowhere")
	wanted := func(config runtime.ApplyConfiguration, s scene) scene { s.intent.Config = config; return s }
	lost := func(n int) func(*world) {
		return func(w *world) { w.At(n, applytest.Fault{LoseRequest: true}) }
	}
	const path = "/apis/apps/v1/namespaces/nowhere/deployments/web"
	play(t, map[string]scene{
		"unknown field":       wanted(unknown, one("500 with an empty reason", apply.ErrRefused)),
		"too large for etcd":  one("500 with an empty reason", apply.ErrRefused, always(status500("etcdserver: request is too large"))),
		"etcd is dying":       one("the write may have landed", apply.ErrRetryable, always(status500("rpc error: code = Unavailable desc = error reading from server: EOF"))),
		"too large":           one("413", apply.ErrRefused, always(apierrors.NewRequestEntityTooLargeError("limit is 3145728"))),
		"invalid":             wanted(invalid, one("422, not for the uid", apply.ErrRefused)),
		"forbidden":           one("403", apply.ErrRefused, always(forbidden)),
		"internal error":      one("a failed webhook, for example", apply.ErrRetryable, always(apierrors.NewInternalError(errors.New("webhook")))),
		"timeout":             one("504 without Retry-After", apply.ErrRetryable, always(apierrors.NewTimeoutError("the server is slow", 0))),
		"unavailable":         one("503 without Retry-After", apply.ErrRetryable, always(unavailable)),
		"lost the creation":   one("409 AlreadyExists", apply.ErrRetryable, always(apierrors.NewAlreadyExists(deployments, "web"))),
		"stale without a uid": one("nothing was pinned: a race inside the server", apply.ErrRetryable, always(overtaken)),
		"reset":               one("client-go does not repeat a PATCH", apply.ErrRetryable, breaks(syscall.ECONNRESET)),
		"refused connection":  one("the server restarts", apply.ErrRetryable, breaks(syscall.ECONNREFUSED)),
		"closed connection":   one("no answer", apply.ErrRetryable, breaks(io.ErrUnexpectedEOF)),
		"anything else":       one("no answer is no refusal", apply.ErrRetryable, breaks(errors.New("no route to host"))),
		"broken off":          one("the answer to an apply that landed", apply.ErrRetryable, brokenOff),
		"not JSON":            one("the answer to an apply that landed", apply.ErrRetryable, html(http.StatusOK)),
		"bad gateway":         one("a proxy answers in HTML", apply.ErrRetryable, html(http.StatusBadGateway)),
		"no namespace": {
			reason: "the API server answers 404 to the apply, and to the read after it", intent: apply.Intent{Config: elsewhere},
			attempts: 1, err: apply.ErrRefused, sent: []string{"PATCH " + path, "GET " + path},
		},
		"it passes": {
			reason: "what failed for the moment is tried again", happens: allOf(alone, lost(1), fails(2, overtaken)),
			attempts: 3, action: apply.Configured, sent: []string{whole, whole, whole},
		},
		"it says how long, and nobody waited": {
			reason: "longer waits are the queue's",
			happens: allOf(always(apierrors.NewServerTimeout(deployments, "patch", 2)), func(w *world) {
				w.answered(func(_ *http.Request, response *http.Response) (*http.Response, error) {
					response.Header.Del("Retry-After") // which client-go waits for
					return response, nil
				})
			}), attempts: 1, err: apply.ErrRetryable, sent: []string{whole},
		},
		"it becomes something else": {
			reason: "a refusal is not repeated", intent: apply.Intent{Config: invalid}, happens: allOf(alone, lost(1)),
			attempts: 2, err: apply.ErrRefused, sent: []string{whole, whole},
		},
		"too busy": {
			reason: "a 429 without a time: client-go has tried for as long as it makes sense", happens: always(apierrors.NewTooManyRequests("busy", 0)),
			attempts: 1, err: apply.ErrRetryable, sent: []string{whole},
		},
		"named a wait": {
			reason: "eleven requests of client-go, one apply", happens: always(apierrors.NewServerTimeout(deployments, "patch", 1)),
			attempts: 1, err: apply.ErrRetryable, sent: slices.Repeat([]string{whole}, 11),
		},
	})
}

// TestContextEnds: nothing is sent after the context has ended.
func TestContextEnds(t *testing.T) {
	for name, test := range map[string]struct {
		reason   string
		happens  func(w *world, end func())
		sent     []string
		attempts int
	}{
		"before": {"nothing is sent", func(_ *world, end func()) { end() }, nil, 0},
		"during a request": {
			"its answer is lost, nothing is sent after it", func(w *world, end func()) { w.Before(1, end) }, []string{whole}, 1,
		},
		"during client-go's wait": {
			"the server asked to wait; the context ends first",
			func(w *world, end func()) {
				time.AfterFunc(time.Second, end)
				always(apierrors.NewTooManyRequests("busy", 60))(w)
			},
			[]string{whole}, 1,
		},
		"after the first answer": {
			"the conflict is not settled", func(w *world, end func()) { w.after(1, end) }, []string{whole}, 1,
		},
		"before the force": {
			"judged, and not forced", func(w *world, end func()) { w.after(3, end) }, []string{whole, read, whole}, 2,
		},
		"during the back-off": {
			"not judged again", func(w *world, end func()) {
				w.Before(4, func() {
					w.Touch()
					time.AfterFunc(time.Millisecond, end) // the wait is 2 ms at least
				})
			}, []string{whole, read, whole, forces}, 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancel(t.Context())
				defer end()
				w := newWorld(t)
				test.happens(w, end)
				outcome, err := w.applier(force).Apply(ctx, apply.Intent{Config: threeReplicas()})
				if !errors.Is(err, context.Canceled) || apply.ResultOf(err) != "Cancelled" || outcome.Requests != len(test.sent) || outcome.Attempts != test.attempts {
					t.Errorf("%s: %v (%s) after %d requests of %d attempts", test.reason, err, apply.ResultOf(err), outcome.Requests, outcome.Attempts)
				}
				w.WantSent(test.sent...)
			})
		})
	}
}

// after calls a function after the answer to the n-th request.
func (w *world) after(n int, do func()) {
	w.answered(func(_ *http.Request, response *http.Response) (*http.Response, error) {
		if w.Sent() == n {
			do()
		}
		return response, nil
	})
}

// client-go gives up after ten repetitions; each of them was a request, and the
// wait that the server asked for is passed on.
func TestRetryAfter(t *testing.T) {
	for name, busy := range map[string]*apierrors.StatusError{
		"429": apierrors.NewTooManyRequests("busy", 2),
		"503": {ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable,
			Details: &metav1.StatusDetails{RetryAfterSeconds: 2},
		}},
		"500 timeout": apierrors.NewServerTimeout(deployments, "patch", 2),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				always(busy)(w)
				start := time.Now()
				outcome, err := w.applier(apply.Policy{}).Apply(t.Context(), apply.Intent{Config: threeReplicas()})
				w.WantSent(slices.Repeat([]string{whole}, 11)...)
				retryable := (*apply.RetryableError)(nil)
				if !errors.As(err, &retryable) || retryable.After != 2*time.Second {
					t.Errorf("%v, want a RetryableError after 2 s", err)
				}
				if outcome.Requests != 11 || outcome.Attempts != 1 || time.Since(start) != 20*time.Second {
					t.Errorf("%d requests by %d attempts in %v", outcome.Requests, outcome.Attempts, time.Since(start))
				}
			})
		})
	}
}

// The client's own timeout looks like the end of a context, and is none.
func TestClientTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.timeout = 6 * time.Second
		w.answered(func(request *http.Request, _ *http.Response) (*http.Response, error) {
			<-request.Context().Done()
			return nil, request.Context().Err()
		})
		_, err := w.applier(apply.Policy{}).Apply(t.Context(), apply.Intent{Config: threeReplicas()})
		w.WantSent(whole, whole) // after 12 s it is the queue's turn
		if !errors.Is(err, apply.ErrRetryable) {
			t.Errorf("%v, want a RetryableError", err)
		}
	})
}

func TestKindThatTheServerDoesNotHave(t *testing.T) {
	w := newWorld(t)
	config := threeReplicas()
	config.WithAPIVersion("example.com/v1").WithKind("Missing")
	outcome, err := w.applier(apply.Policy{}).Apply(t.Context(), apply.Intent{Config: config})
	if !errors.Is(err, apply.ErrRefused) || outcome.Requests != 0 || !strings.Contains(err.Error(), "no matches for kind") {
		t.Errorf("%v after %d requests", err, outcome.Requests)
	}
}
