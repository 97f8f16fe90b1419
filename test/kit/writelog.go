package kit

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// WriteLog keeps method and path of each request that is no read.
type WriteLog struct {
	Mu    sync.Mutex
	Sent  []string
	taken int // of them
}

// Wrap notes each write before it is sent.
func (w *WriteLog) Wrap(next http.RoundTripper) http.RoundTripper {
	return RoundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method != http.MethodGet {
			w.Mu.Lock()
			w.Sent = append(w.Sent, request.Method+" "+request.URL.Path)
			w.Mu.Unlock()
		}
		return next.RoundTrip(request)
	})
}

// Take returns the writes since the last call.
func (w *WriteLog) Take() []string {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	sent := slices.Clone(w.Sent[w.taken:])
	w.taken = len(w.Sent)
	return sent
}

// About returns all writes whose path contains a name.
func (w *WriteLog) About(name string) []string {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.Sent), func(request string) bool { return !strings.Contains(request, name) })
}
