package kit

import (
	"io"
	"net/http"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// WatchGate holds back watch events, so that a test controls how far an informer is behind the
// API server. The zero value is an open gate, which holds back no events.
type WatchGate struct {
	// Holds reports whether a request is a watch whose events the closed gate must hold back.
	Holds func(*http.Request) bool

	mu     sync.Mutex
	closed chan struct{} // nil while the gate is open; closed by Open
}

// IsWatch reports whether a request is a watch of a resource, by the resource's plural name.
func IsWatch(r *http.Request, resource string) bool {
	return r.URL.Query().Get("watch") != "" && strings.HasSuffix(r.URL.Path, "/"+resource)
}

// IsMetadataWatch reports whether a watch requests only the metadata of objects.
func IsMetadataWatch(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
}

// Wrap places the gate between the informers of a configuration and the API server.
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

// Close makes the gate hold back all events that the informers have not read yet.
func (g *WatchGate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed = make(chan struct{})
	}
}

// Open passes on the events that were held back, and all later events.
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
	done chan struct{} // closed when the body is closed
}

// Read reads from the watch, and returns the data once the gate is open.
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
