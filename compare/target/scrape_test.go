package target

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

func TestFetchPage(t *testing.T) {
	registry := prometheus.NewRegistry()
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: cpuSeconds})
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: etcdRequests}, []string{"operation", "group", "resource"})
	registry.MustRegister(counter, requests, prometheus.NewCounter(prometheus.CounterOpts{Name: "other"}))
	counter.Add(3)
	requests.WithLabelValues("update", "", "pods").Add(2)
	metrics := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	binary := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/metrics":
			metrics.ServeHTTP(w, r)
			binary = w.Header().Get("Content-Type")
		case "/text":
			r.Header.Del("Accept")
			metrics.ServeHTTP(w, r)
		case "/broken":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	for _, path := range []string{"/metrics", "/text"} {
		read, err := fetchPage(t.Context(), http.DefaultClient, server.URL+path)
		if err != nil {
			t.Fatal(err)
		}
		if cpu, updates := read.cpu(), read.updates([]compare.Kind{kind("", "pods")}); cpu != 3 || updates != 2 || len(read) != 2 {
			t.Errorf("%s: CPU %v, updates %v, %d names; want 3, 2, 2", path, cpu, updates, len(read))
		}
	}
	if !strings.HasPrefix(binary, "application/vnd.google.protobuf") {
		t.Errorf("the page came as %q; want the binary form", binary)
	}
	if _, err := fetchPage(t.Context(), http.DefaultClient, server.URL+"/broken"); err == nil {
		t.Error("/broken: no error")
	}
}

// snapshot reads the pages of a real API server and etcd, with lines replaced: old, new, old, new.
func snapshot(t *testing.T, replace ...string) Snapshot {
	t.Helper()
	read := func(name string) page {
		content, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer(replace...).Replace(string(content))
		read, err := readPage(strings.NewReader(text), expfmt.NewFormat(expfmt.TypeTextPlain))
		if err != nil {
			t.Fatal(err)
		}
		return read
	}
	return Snapshot{apiserver: read("apiserver.txt"), etcd: read("etcd.txt")}
}

// later is a second after snapshot in the same processes.
var later = []string{
	"process_cpu_seconds_total 155.46", "process_cpu_seconds_total 157.96",
	"process_cpu_seconds_total 0.66", "process_cpu_seconds_total 0.91",
	`operation="update",resource="devboxes"} 2`, `operation="update",resource="devboxes"} 12`,
	`operation="update",resource="leases"} 6736`, `operation="update",resource="leases"} 6737`,
	`operation="get",resource="devboxes"} 4`, `operation="get",resource="devboxes"} 7`,
}

func kind(group, resource string) compare.Kind {
	return compare.Kind{GroupVersionKind: schema.GroupVersionKind{Group: group}, Resource: resource}
}

func wantServer(t *testing.T, got, want results.Server) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestUntil(t *testing.T) {
	before, after := snapshot(t), snapshot(t, later...)
	devboxes := kind("platform.coapply.dev", "devboxes")
	want := results.Server{APIServerCPU: new(2.5), EtcdCPU: new(0.25), Updates: new(10.0)} // without the leases
	wantServer(t, before.Until(after, devboxes), want)

	want.Updates = new(0.0) // counted, and none of them
	wantServer(t, before.Until(after, kind("", "configmaps")), want)
	wantServer(t, before.Until(after, kind("other.example", "devboxes")), want)

	wantServer(t, after.Until(before, devboxes), results.Server{}) // the servers were restarted
}

func TestUntilKnowsWhatIsMissing(t *testing.T) {
	before, after := snapshot(t), snapshot(t, later...)
	wantServer(t, Snapshot{}.Until(Snapshot{}), results.Server{})
	wantServer(t, before.Until(Snapshot{}), results.Server{})
	wantServer(t, Snapshot{}.Until(after), results.Server{})

	after.etcd = nil
	wantServer(t, before.Until(after, kind("platform.coapply.dev", "devboxes")), results.Server{APIServerCPU: new(2.5), Updates: new(10.0)})
}

// A counter with labels is on the page only once it has counted.
func TestUntilOfWhatWasFirstCountedBetween(t *testing.T) {
	before, after := snapshot(t), snapshot(t, later...)
	delete(before.apiserver, etcdRequests)
	got := before.Until(after, kind("platform.coapply.dev", "devboxes"))
	if got.Updates == nil || *got.Updates != 12 {
		t.Errorf("updates are %v; want all 12", got.Updates)
	}
}

func TestReadPageRefusesWhatIsNone(t *testing.T) {
	_, err := readPage(strings.NewReader("<html>\n"), expfmt.NewFormat(expfmt.TypeTextPlain))
	if err == nil {
		t.Error("a page of HTML is read")
	}
}
