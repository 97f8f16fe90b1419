// Package memory runs the client under test against an API server in memory, for the tests of package apply and of its packages. A World has a
// Deployment web in the namespace shop, lets a test write as another field manager before a request of the client, and records the requests.
package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/applytest"
)

// Manager is the field manager of the client under test.
const Manager = "coapply-test"

// World is an API server in memory with the namespace shop, and the requests that the client under test sent to the server. The methods that
// write do so as other clients. Their requests are not recorded.
type World struct {
	testing.TB
	*applytest.Server

	mu     sync.Mutex
	sent   []string
	bodies []string
	ended  bool
}

// started is the API server that all tests of a package share.
var started = sync.OnceValues(func() (*applytest.Server, error) {
	server, err := applytest.StartServer(context.Background())
	if err == nil {
		err = server.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	}
	return server, err
})

// Shop returns the API server that all tests of a package share. Its namespace shop is empty.
func Shop() (*applytest.Server, error) {
	server, err := started()
	if err != nil {
		return nil, err
	}
	for _, kind := range []client.Object{&appsv1.Deployment{}, &corev1.ConfigMap{}, &corev1.Secret{}} {
		err = errors.Join(err, server.DeleteAllOf(context.Background(), kind, client.InNamespace("shop")))
	}
	return server, err
}

// New returns the World of a test. Tests of a package must not run in parallel, as they share a server.
func New(t testing.TB) *World {
	t.Helper()
	server, err := Shop()
	if err != nil {
		t.Fatal(err)
	}
	w := &World{TB: t, Server: server}
	t.Cleanup(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ended = true
	})
	return w
}

// Config returns a configuration for the client under test, which records its requests.
func (w *World) Config() *rest.Config {
	config := w.Server.Config()
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

// Mapper knows the built-in kinds of the tests. So a client does not send requests for discovery.
func Mapper() *meta.DefaultRESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
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
	options := client.Options{Scheme: clientgoscheme.Scheme, Mapper: Mapper()}
	if cache != nil {
		options.Cache = &client.CacheOptions{Reader: cache}
	}
	c, err := client.New(config, options)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// describe returns the method, the object unless it is the Deployment web, and what tells one write from another: its subresource, what it is
// pinned to, force, dry run, and the field manager if it is not Manager.
func (w *World) describe(request *http.Request) (text, raw string) {
	text = request.Method
	if request.Header.Get("Content-Type") == string(types.MergePatchType) {
		text = "MERGE"
	}
	query := request.URL.Query()
	if query.Get("dryRun") != "" {
		text = "dry run, " + text
	}
	path := request.URL.Path
	if _, below, ok := strings.Cut(path, "/namespaces/shop/"); ok {
		path = below
	}
	if path = strings.TrimPrefix(path, "deployments/web"); path != "" {
		text += " " + path
	}
	if request.Body != nil && request.Method != http.MethodGet {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			w.Error(err)
		}
		_ = request.Body.Close()
		request.Body = io.NopCloser(strings.NewReader(string(body)))
		raw = string(body)
		text += w.pins(request.Method, body)
	}
	if query.Get("force") == "true" {
		text += " force"
	}
	if by := query.Get("fieldManager"); by != "" && by != Manager {
		text += " by " + by
	}
	return text, raw
}

// pins returns what the body of a write is pinned to.
func (w *World) pins(method string, body []byte) string {
	var pinned struct {
		UID             types.UID
		ResourceVersion string
	}
	text := ""
	switch {
	case method == http.MethodDelete:
		var options metav1.DeleteOptions
		if _, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(body, nil, &options); err != nil {
			w.Errorf("delete options: %v", err)
		}
		if p := options.Preconditions; p != nil && p.UID != nil && p.ResourceVersion != nil {
			pinned.UID, pinned.ResourceVersion = *p.UID, *p.ResourceVersion
		}
		if options.PropagationPolicy != nil {
			text = " " + string(*options.PropagationPolicy)
		}
	case strings.HasPrefix(string(body), "["): // a JSON patch
		var operations []struct {
			Path  string
			Value any
		}
		if err := json.Unmarshal(body, &operations); err != nil {
			w.Error(err)
		}
		for _, o := range operations {
			switch o.Path {
			case "/metadata/uid":
				pinned.UID = types.UID(fmt.Sprint(o.Value))
			case "/metadata/resourceVersion":
				pinned.ResourceVersion = fmt.Sprint(o.Value)
			}
		}
	default:
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(body, &object); err != nil {
			w.Error(err)
		}
		pinned.UID, pinned.ResourceVersion = object.UID, object.ResourceVersion
	}
	if pinned.ResourceVersion == "1" {
		return " that no object has" + text
	}
	if pinned.ResourceVersion != "" {
		text = " resourceVersion" + text
	}
	if pinned.UID != "" {
		text = " uid" + text
	}
	return text
}

// At injects a fault into the n-th request of the client under test. The first request is number 1.
func (w *World) At(n int, fault applytest.Fault) {
	fault.Times = 1
	fault.Match = func(applytest.Request) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return !w.ended && len(w.sent) == n
	}
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

// WantSent compares all requests of the client under test.
func (w *World) WantSent(want ...string) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if diff := cmp.Diff(want, w.sent); diff != "" {
		w.Errorf("requests (-want +got):\n%s", diff)
	}
}

// Forget forgets the requests that were sent so far. The next one is number 1.
func (w *World) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent, w.bodies = nil, nil
}
