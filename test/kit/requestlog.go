package kit

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// RequestLog records the method and path of each request, except of watches.
type RequestLog struct {
	mu    sync.Mutex
	sent  []string
	taken int // number of requests that Take has returned
}

// Wrap returns a transport that records each request before it is sent.
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

// About returns the requests whose "METHOD PATH" contains all of the texts.
func (l *RequestLog) About(texts ...string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.sent), func(request string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(request, text) })
	})
}

// Reset removes the recorded requests.
func (l *RequestLog) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent, l.taken = nil, 0
}

// WriteLog is a RequestLog that records only writes.
type WriteLog struct{ RequestLog }

// Wrap returns a transport that records each write before it is sent.
func (w *WriteLog) Wrap(next http.RoundTripper) http.RoundTripper {
	noted := w.RequestLog.Wrap(next)
	return RoundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method == http.MethodGet {
			return next.RoundTrip(request)
		}
		return noted.RoundTrip(request)
	})
}
