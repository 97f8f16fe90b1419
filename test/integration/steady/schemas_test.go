package steady

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// hangingSchemas lets requests for some of the server's schemas wait for the end of
// their context, and changesEach those for any.
type hangingSchemas struct {
	next http.RoundTripper

	mu    sync.Mutex
	hangs func(path string) bool
	asked map[string]int // by path
}

func (h *hangingSchemas) RoundTrip(request *http.Request) (*http.Response, error) {
	path := request.URL.Path
	h.mu.Lock()
	hangs := h.hangs(path)
	if strings.HasPrefix(path, "/openapi/v3") {
		h.asked[path]++
	}
	h.mu.Unlock()
	if !hangs {
		return h.next.RoundTrip(request)
	}
	<-request.Context().Done()
	return nil, request.Context().Err()
}

func (h *hangingSchemas) set(hangs func(path string) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hangs = hangs
}

// wantAsked: single flight, and a back-off that begins at the end of a request that
// hangs for ten seconds, leave room for few.
func (h *hangingSchemas) wantAsked(t *testing.T, path string, most int) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := h.asked[path]; n < 1 || n > most {
		t.Errorf("%s was asked for %d times, want 1 to %d: %v", path, n, most, h.asked)
	}
}

// newHangingSchemas gives an applier whose check asks for schemas through it.
func newHangingSchemas(t *testing.T, config *rest.Config, hangs func(path string) bool) (*hangingSchemas, *apply.Applier) {
	t.Helper()
	h := &hangingSchemas{hangs: hangs, asked: map[string]int{}}
	asking := rest.CopyConfig(config)
	asking.Wrap(func(next http.RoundTripper) http.RoundTripper { h.next = next; return h })
	c := kit.NewClient(t, config)
	server, err := discovery.NewDiscoveryClientForConfig(asking)
	if err != nil {
		t.Fatal(err)
	}
	steady, err := apply.NewSteadyState(c, server.OpenAPIV3())
	if err != nil {
		t.Fatal(err)
	}
	applier, err := apply.New(c, apply.Config{FieldManager: "shop", LiveReader: c, Steady: steady})
	if err != nil {
		t.Fatal(err)
	}
	return h, applier
}

// counter is an intent whose argument tells how often it was changed. That a list
// differs takes the schema to see.
func counter(namespace string, i, n int) apply.Intent {
	config := kit.Shop(fmt.Sprint("counter-", i), namespace)
	config.Spec.Template.Spec.Containers[0].Args = []string{"serve", fmt.Sprint(n)}
	return apply.Intent{Config: config}
}

// Eight writers apply forty changes each.
const changedObjects, changesEach = 8, 40

// landAll has each of them write to an object of its own, and wants every change to
// land while the context lasts.
func landAll(ctx context.Context, t *testing.T, applier *apply.Applier, namespace string) {
	t.Helper()
	var landed atomic.Int32
	var all sync.WaitGroup
	for i := range changedObjects {
		all.Go(func() {
			for n := range changesEach {
				outcome, err := applier.Apply(ctx, counter(namespace, i, n))
				if err != nil {
					return
				}
				if outcome.Attempts > 0 { // a change is never taken for none
					landed.Add(1)
				}
			}
		})
	}
	all.Wait()
	if n := landed.Load(); n != changedObjects*changesEach {
		t.Errorf("%d of %d changes landed", n, changedObjects*changesEach)
	}
}

// TestSteadySchemasHang: what the server does not tell of its schemas stalls nobody who
// has something to write. Every change lands, whatever hangs, and proofs come back with
// the answers.
func TestSteadySchemasHang(t *testing.T) {
	config := kit.Server(t)
	c := kit.NewClient(t, config)
	const index, core, apps = "/openapi/v3", "/openapi/v3/api/v1", "/openapi/v3/apis/apps/v1"
	for what, hanging := range map[string]string{"the index": index, "the document in use": apps} {
		t.Run(what, func(t *testing.T) {
			h, applier := newHangingSchemas(t, config, func(path string) bool { return path == hanging })
			namespace := kit.NewNamespace(t, c)
			ctx, cancel := context.WithTimeout(t.Context(), kit.Patience)
			defer cancel()
			landAll(ctx, t, applier, namespace)
			h.wantAsked(t, hanging, 4)
			h.set(func(string) bool { return false })
			kit.WaitFor(t, "proofs are back", func() string {
				outcome, err := applier.Apply(t.Context(), counter(namespace, 0, changesEach-1))
				if err != nil || outcome.Attempts > 0 {
					return fmt.Sprintf("%+v, %v", outcome, err)
				}
				return ""
			})
		})
	}
	t.Run("the document of an unrelated group", func(t *testing.T) {
		h, applier := newHangingSchemas(t, config, func(path string) bool { return path == core })
		namespace := kit.NewNamespace(t, c)
		ctx, cancel := context.WithTimeout(t.Context(), kit.Patience)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() { landAll(ctx, t, applier, namespace) })
		for range changesEach { // as a reconciler of another kind does meanwhile, of what stands already
			same := corev1ac.ConfigMap("same", namespace).WithData(map[string]string{"k": "v"})
			if outcome, err := applier.Apply(ctx, apply.Intent{Config: same}); err != nil || outcome.Attempts != 1 {
				t.Errorf("of the group that hangs: %+v, %v, want it sent", outcome, err)
				break
			}
		}
		all.Wait()
		h.wantAsked(t, core, 4)
		h.wantAsked(t, apps, 1)
		for i := range changedObjects {
			outcome, err := applier.Apply(t.Context(), counter(namespace, i, changesEach-1))
			if err != nil || outcome.Attempts > 0 {
				t.Errorf("object %d: %+v, %v, want it proven", i, outcome, err)
			}
		}
	})
}
