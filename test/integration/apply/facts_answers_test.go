package apply

import (
	"errors"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/update"
	"coapply.dev/test/kit"
)

// TestFactsOfCauses: how the server names each kind of other owner, and what a
// Conflict makes of that.
func TestFactsOfCauses(t *testing.T) {
	f := newFacts(t)
	f.must(f.c.Apply(f.Context(), kit.Deployment("a", f.namespace, "v1"), client.FieldOwner("applier")))
	status := appsv1ac.Deployment("a", f.namespace).WithStatus(appsv1ac.DeploymentStatus().WithReplicas(2))
	f.must(f.c.Status().Apply(f.Context(), status, client.FieldOwner("status applier")))
	patch := func(write func(client.Object, client.Patch) error, body string) {
		object := podsOf(metav1.ObjectMeta{Namespace: f.namespace, Name: "a"})
		f.must(write(object, client.RawPatch(types.MergePatchType, []byte(body))))
	}
	patch(func(o client.Object, p client.Patch) error {
		return f.c.Patch(f.Context(), o, p, client.FieldOwner("updater"))
	}, `{"spec":{"replicas":4}}`)
	patch(func(o client.Object, p client.Patch) error {
		return f.c.Status().Patch(f.Context(), o, p, client.FieldOwner("status updater"))
	}, `{"status":{"observedGeneration":7}}`)

	// The code of the server has " at TIME" for Update managers as well; it never
	// comes, as the time is no part of a manager's identity. Ours is the entry's.
	want := map[string]string{
		`conflict with "applier"`:                                                "applier/Apply apps/v1",
		`conflict with "status applier" with subresource "status"`:               "status applier/Apply[status] apps/v1",
		`conflict with "updater" using apps/v1`:                                  "updater/Update apps/v1",
		`conflict with "status updater" with subresource "status" using apps/v1`: "status updater/Update[status] apps/v1",
	}
	wanted := kit.Deployment("a", f.namespace, "v2")
	wanted.Spec.WithReplicas(1)
	for _, intent := range []apply.Intent{
		{Config: wanted},
		{Config: appsv1ac.Deployment("a", f.namespace).WithStatus(appsv1ac.DeploymentStatus().WithReplicas(1).WithObservedGeneration(1)), Subresource: "status"},
	} {
		_, err := f.applier("us", apply.Policy{}).Apply(f.Context(), intent)
		var status apierrors.APIStatus
		conflict, is := errors.AsType[*apply.ConflictError](err)
		if !is || !errors.As(err, &status) || len(conflict.Conflicts) != 2 {
			f.Fatalf("%v, want two conflicts", err)
		}
		for _, cause := range status.Status().Details.Causes {
			for _, ours := range conflict.Conflicts {
				if ours.ServerPath != cause.Field {
					continue
				}
				if got := ours.Manager.String() + " " + ours.Manager.APIVersion; got != want[cause.Message] || ours.Manager.Time.IsZero() {
					f.Errorf("%s became %s at %v", cause.Message, got, ours.Manager.Time)
				}
				delete(want, cause.Message)
			}
		}
	}
	if len(want) > 0 {
		f.Errorf("causes that the server did not give: %v", want)
	}
}

// TestFactsOfLostAnswers: the write landed and nobody was told.
func TestFactsOfLostAnswers(t *testing.T) {
	var lose atomic.Bool
	f := newFacts(t, func(next http.RoundTripper) http.RoundTripper {
		return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			if err == nil && request.Method != http.MethodGet && lose.CompareAndSwap(true, false) {
				_ = response.Body.Close()
				return nil, syscall.ECONNRESET
			}
			return response, err
		})
	})
	intent := apply.Intent{Config: f.configMap("a", map[string]string{"k": "v"})}
	us := f.applier("us", apply.Policy{})
	lose.Store(true)
	outcome, err := us.Apply(f.Context(), intent)
	first := f.live("a")
	if err != nil || outcome.Attempts != 2 || outcome.Requests != 2 || outcome.Object.ResourceVersion != first.ResourceVersion {
		f.Errorf("%+v, %v; want a second attempt", outcome, err)
	}
	if outcome, err := us.Apply(f.Context(), intent); err != nil || outcome.Action != apply.Unchanged {
		f.Errorf("the same again: %+v, %v; want what the first one left", outcome, err)
	}

	// client-go repeats no PATCH and no PUT; the one that is repeated by hand is stale,
	// and the one that is judged by a live read before is not sent.
	write := func(o *corev1.ConfigMap) error {
		o.Data = map[string]string{"k": "w"}
		return nil
	}
	updater := newUpdater(t, f.c, update.DefaultRetry)
	lose.Store(true)
	if result, err := update.Do(f.Context(), updater, first, write); !errors.Is(err, apply.ErrRetryable) || result.Attempts != 1 {
		f.Errorf("a PUT whose answer is lost: %+v, %v", result, err)
	}
	second := f.live("a")
	byHand := first.DeepCopy()
	f.must(write(byHand))
	if err := f.c.Update(f.Context(), byHand, client.FieldOwner("us")); !apply.IsStaleWrite(err) {
		f.Errorf("the same again by hand: %v, want a stale write", err)
	}
	result, err := update.Do(f.Context(), updater, first, write)
	if err != nil || result.Changed || result.Attempts != 1 || result.StaleWrites != 0 || f.live("a").ResourceVersion != second.ResourceVersion {
		f.Errorf("the same again: %+v, %v; want a read that finds nothing to write", result, err)
	}
	lose.Store(true)
	if err := f.c.Apply(f.Context(), f.configMap("a", nil), client.FieldOwner("plain")); !errors.Is(err, syscall.ECONNRESET) {
		f.Errorf("client-go has repeated a PATCH: %v", err)
	}
}

// TestFactsOfRetryAfter: client-go repeats what carries Retry-After, ten times, and
// nothing else.
func TestFactsOfRetryAfter(t *testing.T) {
	var failures atomic.Int32
	var retryAfter atomic.Bool
	var status atomic.Int32
	f := newFacts(t, func(next http.RoundTripper) http.RoundTripper {
		return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method != http.MethodPatch || failures.Add(-1) < 0 {
				return next.RoundTrip(request)
			}
			response := &http.Response{StatusCode: int(status.Load()), Header: http.Header{}, Body: http.NoBody, Request: request}
			if retryAfter.Load() {
				response.Header.Set("Retry-After", "0")
			}
			return response, nil
		})
	})
	us := f.applier("us", apply.Policy{})
	for _, row := range []struct {
		reason             string
		failures, status   int
		retryAfter         bool
		class              error
		attempts, requests int
	}{
		{"within client-go's budget", 10, http.StatusTooManyRequests, true, nil, 1, 11},
		{"any 5xx as well", 10, http.StatusInternalServerError, true, nil, 1, 11},
		{"too busy even then: the queue waits", 12, http.StatusTooManyRequests, true, apply.ErrRetryable, 1, 11},
		{"beyond it, and within ours", 12, http.StatusServiceUnavailable, true, nil, 2, 13},
		{"beyond both", 33, http.StatusServiceUnavailable, true, apply.ErrRetryable, 3, 33},
		{"without the header client-go repeats nothing", 2, http.StatusServiceUnavailable, false, nil, 3, 3},
	} {
		failures.Store(int32(row.failures))
		status.Store(int32(row.status))
		retryAfter.Store(row.retryAfter)
		outcome, err := us.Apply(f.Context(), apply.Intent{Config: f.configMap("a", map[string]string{"k": "v"})})
		if !errors.Is(err, row.class) || outcome.Attempts != row.attempts || outcome.Requests != row.requests {
			f.Errorf("%s: %d attempts, %d requests, %v; want %d and %d", row.reason, outcome.Attempts, outcome.Requests, err, row.attempts, row.requests)
		}
	}
}
