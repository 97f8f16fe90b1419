package kit

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// RequestLog keeps method and path of each request but for watches.
type RequestLog struct {
	mu    sync.Mutex
	sent  []string
	taken int // of them
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

// Take returns the requests since the last call.
func (l *RequestLog) Take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	sent := slices.Clone(l.sent[l.taken:])
	l.taken = len(l.sent)
	return sent
}

// About returns all requests in whose "METHOD PATH" each of the texts is.
func (l *RequestLog) About(texts ...string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.sent), func(request string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(request, text) })
	})
}

// Reset forgets what was sent.
func (l *RequestLog) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent, l.taken = nil, 0
}

// WriteLog is a RequestLog without reads.
type WriteLog struct{ RequestLog }

// Wrap notes each write before it is sent.
func (w *WriteLog) Wrap(next http.RoundTripper) http.RoundTripper {
	noted := w.RequestLog.Wrap(next)
	return RoundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method == http.MethodGet {
			return next.RoundTrip(request)
		}
		return noted.RoundTrip(request)
	})
}
