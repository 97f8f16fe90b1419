package kit

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// RequestLog keeps method and path of each request but for watches.
type RequestLog struct {
	mu   sync.Mutex
	sent []string
}

// Wrap notes each request before it is sent.
func (l *RequestLog) Wrap(next http.RoundTripper) http.RoundTripper {
	return RoundTripper(func(request *http.Request) (*http.Response, error) {
		l.mu.Lock()
		if request.URL.Query().Get("watch") == "" {
			l.sent = append(l.sent, request.Method+" "+request.URL.Path)
		}
		l.mu.Unlock()
		return next.RoundTrip(request)
	})
}

// Sent returns all of them.
func (l *RequestLog) Sent() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.sent)
}

// About returns the requests of a method whose path contains a text.
func (l *RequestLog) About(method, part string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, request := range l.sent {
		if strings.HasPrefix(request, method+" ") && strings.Contains(request, part) {
			found = append(found, request)
		}
	}
	return found
}

// Reset forgets what was sent.
func (l *RequestLog) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = nil
}
