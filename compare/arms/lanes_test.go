package arms

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"net/http"

	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"coapply.dev/compare"
	"coapply.dev/compare/history"
)

// TestWritersTakeTurns has one writer hang inside the lane: the other one, of another field manager, sends nothing, and
// at the end of its context that is known.
func TestWritersTakeTurns(t *testing.T) {
	for name, arm := range map[string]func(compare.Session) writer{"gmu-lanes": gmuLanes, "ssa-lanes": ssaLanes, "apply": applier} {
		synctest.Test(t, func(t *testing.T) {
			requests := 0
			hangs := func(ctx context.Context) error {
				requests++
				<-ctx.Done()
				return ctx.Err()
			}
			c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
					return hangs(ctx)
				},
				Apply: func(ctx context.Context, _ client.WithWatch, _ runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
					return hangs(ctx)
				},
			}).WithRESTMapper(testrestmapper.TestOnlyStaticRESTMapper(clientgoscheme.Scheme)).Build()
			config := &rest.Config{Host: "http://server", Transport: transport(func(r *http.Request) (*http.Response, error) {
				return nil, hangs(r.Context())
			})}
			write := arm(compare.Session{
				Client: func(string) client.Client { return c },
				Config: func(string) *rest.Config { return rest.CopyConfig(config) },
				Cache:  fake.NewClientBuilder().Build(), Schemas: struct{ openapi.Client }{}, // it is empty, and proves nothing
			}).Write
			first, second := oneKey("1"), oneKey("2")
			first.Configure = func(*unstructured.Unstructured) map[string]any { return nil }
			second.Configure, second.Manager = first.Configure, "other"
			forever, end := context.WithCancel(t.Context())
			defer end()
			go func() { _, _ = write(forever, first) }()
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := write(ctx, second)
			if requests != 1 || Classify(err) != history.Failed {
				t.Errorf("%s: %d requests, want 1; %v is %s, want a failure: nothing was sent", name, requests, err, Classify(err))
			}
		})
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }
