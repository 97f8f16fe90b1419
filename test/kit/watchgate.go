package kit

import (
	"io"
	"net/http"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// WatchGate holds back watch events, so that a test decides how far an informer is behind the
// API server. The zero value is an open gate that holds back nothing.
type WatchGate struct {
	// Holds reports whether a request is a watch whose events the closed gate holds back.
	Holds func(*http.Request) bool

	mu     sync.Mutex
	closed chan struct{} // nil while the gate is open; closed by Open
}

// IsWatch reports whether a request is a watch of a resource, by the resource's plural name.
func IsWatch(r *http.Request, resource string) bool {
	return r.URL.Query().Get("watch") != "" && strings.HasSuffix(r.URL.Path, "/"+resource)
}

// IsMetadataWatch reports whether a watch asks for the metadata alone.
func IsMetadataWatch(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
}

// Wrap puts the gate between the informers of a configuration and the API server.
func (g *WatchGate) Wrap(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return RoundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err == nil && g.Holds(r) {
				response.Body = &gatedBody{ReadCloser: response.Body, gate: g, done: make(chan struct{})}
			}
			return response, err
		})
	})
}

// Close holds back all events that have not been read yet.
func (g *WatchGate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed = make(chan struct{})
	}
}

// Open lets the events through.
func (g *WatchGate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		close(g.closed)
		g.closed = nil
	}
}

func (g *WatchGate) isClosed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

type gatedBody struct {
	io.ReadCloser

	gate *WatchGate
	once sync.Once
	done chan struct{} // closed with the body
}

// Read reads from the watch, and returns what it has read once the gate is open.
func (b *gatedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	for closed := b.gate.isClosed(); closed != nil; closed = b.gate.isClosed() {
		select {
		case <-closed:
		case <-b.done:
			return n, err
		}
	}
	return n, err
}

func (b *gatedBody) Close() error {
	b.once.Do(func() { close(b.done) })
	return b.ReadCloser.Close()
}
