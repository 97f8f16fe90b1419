package apply_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"coapply.dev/apply"
)

func TestFailures(t *testing.T) {
	one := func(reason string, class error, a answer) testCase {
		c := testCase{reason: reason, steps: []step{{"PATCH", a}}, err: class, attempts: 1}
		if errors.Is(class, apply.ErrRetryable) { // tried three times
			c.steps, c.attempts = append(c.steps, c.steps[0], c.steps[0]), 3
		}
		return c
	}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "web", field.ErrorList{
		field.Invalid(field.NewPath("spec", "replicas"), -1, "must not be negative")})
	tooLarge := apierrors.NewRequestEntityTooLargeError("limit is 3145728")
	timeout := apierrors.NewTimeoutError("the server is slow", 0)
	unavailable := apierrors.NewServiceUnavailable("etcd has no leader")
	run(t, map[string]testCase{
		"unknown field":       one("500 with an empty reason", apply.ErrRefused, unknownReason("failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): .spec.x: field not declared in schema")),
		"too large for etcd":  one("500 with an empty reason", apply.ErrRefused, unknownReason("etcdserver: request is too large")),
		"etcd is dying":       one("the write may have landed", apply.ErrRetryable, unknownReason("rpc error: code = Unavailable desc = error reading from server: EOF")),
		"too large":           one("413", apply.ErrRefused, fail(tooLarge)),
		"invalid":             one("422, not for the uid", apply.ErrRefused, fail(invalid)),
		"forbidden":           one("403", apply.ErrRefused, fail(apierrors.NewForbidden(deployments, "web", errors.New("no")))),
		"internal error":      one("a failed webhook, for example", apply.ErrRetryable, fail(apierrors.NewInternalError(errors.New("webhook")))),
		"timeout":             one("504 without Retry-After", apply.ErrRetryable, fail(timeout)),
		"unavailable":         one("503 without Retry-After", apply.ErrRetryable, fail(unavailable)),
		"lost the creation":   one("409 AlreadyExists", apply.ErrRetryable, fail(apierrors.NewAlreadyExists(deployments, "web"))),
		"stale without a uid": one("nothing was pinned: a race inside the server", apply.ErrRetryable, stale()),
		"reset":               one("client-go does not repeat a PATCH", apply.ErrRetryable, breaks(syscall.ECONNRESET)),
		"refused connection":  one("the server restarts", apply.ErrRetryable, breaks(syscall.ECONNREFUSED)),
		"closed connection":   one("no answer", apply.ErrRetryable, breaks(io.ErrUnexpectedEOF)),
		"anything else":       one("no answer is no refusal", apply.ErrRetryable, breaks(errors.New("no route to host"))),
		"broken off":          one("the answer to an apply that landed", apply.ErrRetryable, brokenOff),
		"not JSON":            one("the answer to an apply that landed", apply.ErrRetryable, html(http.StatusOK)),
		"bad gateway":         one("a proxy answers in HTML", apply.ErrRetryable, html(http.StatusBadGateway)),
		"no namespace": {
			reason: "the API server answers 404 to the apply, and to the read after it", attempts: 1, err: apply.ErrRefused,
			steps: []step{{"PATCH", notFound()}, {"GET", notFound()}},
		},
		"it passes": {
			reason: "what failed for the moment is tried again", attempts: 3, action: apply.Configured,
			steps: []step{{"PATCH", breaks(syscall.ECONNRESET)}, {"PATCH", stale()}, {"PATCH", ok(web("uid-1", "7"))}},
		},
		"it says how long, and nobody waited": {
			reason: "longer waits are the queue's", attempts: 1, err: apply.ErrRetryable,
			steps: []step{{"PATCH", withoutHeader(fail(apierrors.NewServerTimeout(deployments, "patch", 2)))}},
		},
		"it becomes something else": {
			reason: "a refusal is not repeated", attempts: 2, err: apply.ErrRefused,
			steps: []step{{"PATCH", breaks(syscall.ECONNRESET)}, {"PATCH", fail(invalid)}},
		},
		"forced conflict": {reason: "no force conflicts; if one does, it is refused", policy: force, steps: forcedConflict, err: apply.ErrRefused, attempts: 3, conflicts: []string{forcedReplicas}},
	})
}

var forcedConflict = []step{
	{"PATCH", conflict(hpaReplicas)},
	{"GET", ok(web("uid-1", "7"))},
	{"PATCH", conflict(hpaReplicas)},
	{"PATCH uid=uid-1 resourceVersion=7 force", conflict(hpaReplicas)},
}

func brokenOff(request *http.Request) (*http.Response, error) {
	response, err := ok(web("uid-1", "7"))(request)
	response.Body = io.NopCloser(io.MultiReader(io.LimitReader(response.Body, 20), failing{}))
	return response, err
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// withoutHeader is what client-go does not wait for.
func withoutHeader(a answer) answer {
	return func(request *http.Request) (*http.Response, error) {
		response, err := a(request)
		response.Header.Del("Retry-After")
		return response, err
	}
}

func html(status int) answer {
	return func(request *http.Request) (*http.Response, error) {
		return respond(request, status, http.Header{"Content-Type": {"text/html"}}, []byte("<html>")), nil
	}
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
				var steps []step
				for range 11 {
					steps = append(steps, step{"PATCH", fail(busy)})
				}
				start := time.Now()
				outcome, err := newScript(t, steps).applier(apply.Policy{}, nil).
					Apply(t.Context(), apply.Intent{Config: threeReplicas()})
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
		s := newScript(t, []step{{"PATCH", hangs}, {"PATCH", hangs}}) // after 12 s it is the queue's turn
		config := s.restConfig(true)
		config.Timeout = 6 * time.Second
		_, err := s.applierOver(config, apply.Config{}, nil).Apply(t.Context(), apply.Intent{Config: threeReplicas()})
		if !errors.Is(err, apply.ErrRetryable) {
			t.Errorf("%v, want a RetryableError", err)
		}
	})
}

// hangs until the request's context ends.
func hangs(request *http.Request) (*http.Response, error) {
	<-request.Context().Done()
	return nil, request.Context().Err()
}

func TestKindThatTheServerDoesNotHave(t *testing.T) {
	s := newScript(t, nil)
	config := threeReplicas()
	config.WithAPIVersion("example.com/v1").WithKind("Missing")
	outcome, err := s.applier(apply.Policy{}, nil).Apply(t.Context(), apply.Intent{Config: config})
	if !errors.Is(err, apply.ErrRefused) || outcome.Requests != 0 || !strings.Contains(err.Error(), "no matches for kind") {
		t.Errorf("%v after %d requests", err, outcome.Requests)
	}
}
