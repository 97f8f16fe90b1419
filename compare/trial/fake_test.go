package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

// fakeServer holds ConfigMaps of the namespace n: it lists and watches, and takes every PUT.
type fakeServer struct {
	*httptest.Server

	mu       sync.Mutex
	revision int
	objects  map[string]string // as JSON, by name
	events   []string          // lines of the watch, of revisions from 1
	wake     chan struct{}
	ends     context.Context //nolint:containedctx // of the test: it ends the watches
	// stream, if it is there, serves the watch instead; refuse answers writes with a status.
	stream func(w http.ResponseWriter, from string)
	refuse int
}

func newFakeServer(t *testing.T) *fakeServer {
	ends, cancel := context.WithCancel(context.Background())
	f := &fakeServer{objects: map[string]string{}, wake: make(chan struct{}), ends: ends}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(func() {
		cancel()
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

func (f *fakeServer) place() place {
	config := &rest.Config{Host: f.URL}
	return place{admin: config, user: config, namespace: "n",
		scrape: func(context.Context, []compare.Kind) func(context.Context) results.Server {
			return func(context.Context) results.Server { return results.Server{} }
		},
	}
}

const configMaps = "/api/v1/namespaces/n/configmaps"

func (f *fakeServer) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method == http.MethodPut && f.refuse > 0:
		w.WriteHeader(f.refuse)
	case r.Method == http.MethodPut:
		f.put(w, r)
	case r.URL.Path != configMaps:
		http.NotFound(w, r)
	case r.URL.Query().Get("watch") == "":
		f.list(w)
	case f.stream != nil:
		f.stream(w, r.URL.Query().Get("resourceVersion"))
	default:
		f.watch(w, r)
	}
}

func (f *fakeServer) list(w http.ResponseWriter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var items []string
	for _, object := range f.objects {
		items = append(items, object)
	}
	fmt.Fprintf(w, `{"kind":"List","metadata":{"resourceVersion":"%d"},"items":[%s]}`, f.revision, strings.Join(items, ","))
}

// set stores an object and gives it as it was stored.
func (f *fakeServer) set(name, value string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.revision++
	kind := "MODIFIED"
	if _, known := f.objects[name]; !known {
		kind = "ADDED"
	}
	f.objects[name] = configMap(name, f.revision, value)
	f.events = append(f.events, line(kind, f.objects[name]))
	close(f.wake)
	f.wake = make(chan struct{})
	return f.objects[name]
}

func configMap(name string, revision int, value string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"n","resourceVersion":"%d","managedFields":[{}]},"data":{"f":%q}}`,
		name, revision, value)
}

func line(kind, object string) string {
	return fmt.Sprintf(`{"type":%q,"object":%s}`, kind, object) + "\n"
}

func (f *fakeServer) put(w http.ResponseWriter, r *http.Request) {
	var sent struct{ Data map[string]string }
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	fmt.Fprint(w, f.set(r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:], sent.Data["f"]))
}

func (f *fakeServer) watch(w http.ResponseWriter, r *http.Request) {
	var next int
	_, _ = fmt.Sscan(r.URL.Query().Get("resourceVersion"), &next)
	for {
		f.mu.Lock()
		events, wake := f.events[next:], f.wake
		f.mu.Unlock()
		next += len(events)
		fmt.Fprint(w, strings.Join(events, ""))
		w.(http.Flusher).Flush()
		select {
		case <-wake:
		case <-f.ends.Done():
			return
		case <-r.Context().Done():
			return
		}
	}
}
