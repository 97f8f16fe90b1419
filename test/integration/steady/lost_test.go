package steady

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// laggingCache gives every read the object of one moment.
type laggingCache struct {
	client.Reader

	object *corev1.ConfigMap
}

func (c *laggingCache) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	c.object.DeepCopyInto(into.(*corev1.ConfigMap))
	return nil
}

// TestSteadyAfterALostAnswer: while etcd dies the API server answers 500 to a write that
// has landed. Nothing was refused, and a cache that does not show the write is not
// believed: the intent of before is sent again.
func TestSteadyAfterALostAnswer(t *testing.T) {
	t.Parallel()
	var dying atomic.Bool
	config := rest.CopyConfig(steadyConfig(t))
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			if err != nil || !dying.Load() || request.Method != http.MethodPatch {
				return response, err
			}
			response.StatusCode = http.StatusInternalServerError
			err = response.Body.Close()
			response.Body = io.NopCloser(strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"rpc error: code = Unavailable desc = transport is closing","code":500}`))
			response.ContentLength = -1
			return response, err
		})
	})
	c := kit.NewClient(t, config)
	namespace := kit.NewNamespace(t, c)
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	cache := &laggingCache{object: &corev1.ConfigMap{}}
	steady, err := apply.NewSteadyState(cache, found.OpenAPIV3())
	if err != nil {
		t.Fatal(err)
	}
	applier, err := apply.New(c, apply.Config{FieldManager: kit.OurManager, LiveReader: c, Steady: steady})
	if err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKey{Namespace: namespace, Name: "a"}
	says := func(text string) apply.Intent {
		return apply.Intent{Config: corev1ac.ConfigMap(key.Name, key.Namespace).WithData(map[string]string{"says": text})}
	}
	if _, err := applier.Apply(t.Context(), says("before")); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), key, cache.object); err != nil {
		t.Fatal(err)
	}
	kit.WaitFor(t, "the intent is proven to be a no-op", func() string { // the schemas may come late on a busy machine
		if outcome, err := applier.Apply(t.Context(), says("before")); err != nil || outcome.Requests != 0 {
			return fmt.Sprintf("%+v, %v", outcome, err)
		}
		return ""
	})
	dying.Store(true)
	if outcome, err := applier.Apply(t.Context(), says("lost")); !errors.Is(err, apply.ErrRetryable) || outcome.Attempts != 3 {
		t.Errorf("%+v, %v; want a RetryableError after three tries", outcome, err)
	}
	dying.Store(false)
	if outcome, err := applier.Apply(t.Context(), says("before")); err != nil || outcome.Action == apply.Unchanged {
		t.Errorf("%+v, %v; want it sent", outcome, err)
	}
	var live corev1.ConfigMap
	if err := c.Get(t.Context(), key, &live); err != nil || live.Data["says"] != "before" {
		t.Errorf("it says %q, %v", live.Data["says"], err)
	}
}
