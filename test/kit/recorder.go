package kit

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Recorder records each request before it is sent, including client-go's own retries. The zero value is ready for use.
type Recorder struct {
	mu       sync.Mutex
	requests []Request
}

// Request is one request for a resource. In a query for Recorder.Count, empty fields match everything.
type Request struct {
	Verb        string // as in RBAC, or apply for an apply patch; "" for a request without a resource
	Resource    string // plural, without its group
	Subresource string
}

// Wrap returns a transport that records each request before it is sent to next.
func (r *Recorder) Wrap(next http.RoundTripper) http.RoundTripper {
	return RoundTripper(func(request *http.Request) (*http.Response, error) {
		r.mu.Lock()
		r.requests = append(r.requests, requestOf(request))
		r.mu.Unlock()
		return next.RoundTrip(request)
	})
}

// Requests returns the recorded requests.
func (r *Recorder) Requests() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}

// Count returns the number of recorded requests that match a query.
func (r *Recorder) Count(query Request) (n int) {
	for _, request := range r.Requests() {
		if (query.Verb == "" || query.Verb == request.Verb) && (query.Resource == "" || query.Resource == request.Resource) &&
			(query.Subresource == "" || query.Subresource == request.Subresource) {
			n++
		}
	}
	return n
}

// Reset removes the recorded requests.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = nil
}

func requestOf(request *http.Request) (r Request) {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	if parts[0] == "apis" && len(parts) > 1 {
		parts = parts[1:] // the group
	}
	if parts = parts[min(2, len(parts)):]; len(parts) == 0 {
		return r
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	r.Resource = parts[0]
	if len(parts) > 2 {
		r.Subresource = parts[2]
	}
	r.Verb = map[string]string{
		http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
	}[request.Method]
	if r.Verb == "patch" && strings.Contains(request.Header.Get("Content-Type"), "apply-patch") {
		r.Verb = "apply"
	}
	return r
}
