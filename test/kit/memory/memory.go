// Package memory runs the client under test against an API server in memory, for the tests of package apply and of its packages. A World has a
// Deployment web in the namespace shop, lets a test write as another field manager before a request of the client, and records the requests.
package memory

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/applytest"
)

// Manager is the field manager of the client under test.
const Manager = "coapply-test"

// World is an API server in memory with the namespace shop. It records the requests of the client under test. The methods that write
// to the server act as other clients, whose requests are not recorded.
type World struct {
	testing.TB
	*applytest.Server

	mu     sync.Mutex
	sent   []string
	bodies []string
	ended  atomic.Bool
}

// scheme knows the kinds that the tests write.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(errors.Join(clientgoscheme.AddToScheme(s), apiextensionsv1.AddToScheme(s)))
	return s
}()

// Start starts an API server in memory, which runs until the process ends.
func Start() (*rest.Config, error) {
	server, err := applytest.StartServer(context.Background())
	if err != nil {
		return nil, err
	}
	return server.Config(), nil
}

// started is the API server that all tests of a package share.
var started = sync.OnceValues(func() (*applytest.Server, error) {
	server, err := applytest.StartServer(context.Background(), applytest.WithScheme(scheme))
	if err == nil {
		err = server.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	}
	return server, err
})

// Shop returns the API server that all tests of a package share, and deletes the objects in its namespace shop.
func Shop() (*applytest.Server, error) {
	server, err := started()
	if err != nil {
		return nil, err
	}
	for _, kind := range []client.Object{&appsv1.Deployment{}, &corev1.ConfigMap{}, &corev1.Secret{}, &corev1.Service{}} {
		err = errors.Join(err, server.DeleteAllOf(context.Background(), kind, client.InNamespace("shop")))
	}
	return server, err
}

// current is the World that was made last.
var current atomic.Pointer[World]

// New returns a World, and ends the one before. Tests of a package must not run in parallel, as they share a server.
func New(t testing.TB) *World {
	t.Helper()
	server, err := Shop()
	if err != nil {
		t.Fatal(err)
	}
	w := &World{TB: t, Server: server}
	if former := current.Swap(w); former != nil {
		former.ended.Store(true)
	}
	t.Cleanup(func() { w.ended.Store(true) })
	return w
}

// Config returns a configuration for the client under test. The World records the requests of this client.
func (w *World) Config() *rest.Config {
	return w.Recorded(w.Server.Config())
}

// Recorded makes the World record the requests of clients with the given configuration, and returns the configuration.
func (w *World) Recorded(config *rest.Config) *rest.Config {
	config.Wrap(w.record)
	return config
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func (w *World) record(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if err := request.Context().Err(); err != nil {
			return nil, err
		}
		text, body := w.describe(request)
		w.mu.Lock()
		w.sent = append(w.sent, text)
		if request.Method == http.MethodPatch {
			w.bodies = append(w.bodies, body)
		}
		w.mu.Unlock()
		return next.RoundTrip(request)
	})
}

// Mapper returns a mapper for the built-in kinds of the tests and further namespaced kinds, so that a client sends no discovery requests.
func Mapper(further ...schema.GroupVersionKind) *meta.DefaultRESTMapper {
	versions := []schema.GroupVersion{corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion}
	for _, kind := range further {
		versions = append(versions, kind.GroupVersion())
	}
	mapper := meta.NewDefaultRESTMapper(versions)
	for _, kind := range further {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	for _, kind := range []string{"ConfigMap", "Secret"} {
		mapper.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	return mapper
}

// Client returns a client under test. It reads from the cache, or without a cache from the server.
func (w *World) Client(config *rest.Config, cache client.Reader) client.Client {
	w.Helper()
	options := client.Options{Scheme: clientgoscheme.Scheme, Mapper: Mapper(gadget)}
	if cache != nil {
		options.Cache = &client.CacheOptions{Reader: cache}
	}
	c, err := client.New(config, options)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// At injects a fault into the n-th request of the client under test. The first request is number 1.
func (w *World) At(n int, fault applytest.Fault) {
	fault.Times = 1
	fault.Match = func(applytest.Request) bool { return w.Sent() == n }
	w.Each(fault)
}

// Each injects a fault into the requests that the fault matches, until the World ends.
func (w *World) Each(fault applytest.Fault) {
	match := fault.Match
	fault.Match = func(r applytest.Request) bool { return !w.ended.Load() && match(r) }
	w.Inject(fault)
}

// Before lets other clients write right before the n-th request of the client under test.
func (w *World) Before(n int, write func()) { w.At(n, applytest.Fault{Before: write}) }

// Answer lets the server answer the n-th request of the client under test with an error.
func (w *World) Answer(n int, err error) { w.At(n, applytest.Fault{Answer: err}) }

// Sent returns how many requests the client under test has sent.
func (w *World) Sent() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.sent)
}

// Count returns how many times the client under test has sent a request.
func (w *World) Count(request string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, sent := range w.sent {
		if sent == request {
			n++
		}
	}
	return n
}

// Bodies returns the bodies of the patches that the client under test has sent.
func (w *World) Bodies() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bodies
}

// LastBody returns the body of the last patch that the client under test has sent.
func (w *World) LastBody() string {
	bodies := w.Bodies()
	if len(bodies) == 0 {
		w.Fatal("no patch was sent")
	}
	return bodies[len(bodies)-1]
}

// WantSent fails the test if the client under test has sent other requests than these.
func (w *World) WantSent(want ...string) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if diff := cmp.Diff(want, w.sent); diff != "" {
		w.Errorf("requests (-want +got):\n%s", diff)
	}
}

// Forget removes the recorded requests. The next request is number 1.
func (w *World) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent, w.bodies = nil, nil
}
