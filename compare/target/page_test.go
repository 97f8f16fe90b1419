package target

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/rest"
)

func TestFetchPage(t *testing.T) {
	registry := prometheus.NewRegistry()
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: cpuSeconds})
	histogram := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: queueSeconds}, []string{"priority_level"})
	registry.MustRegister(counter, histogram, prometheus.NewCounter(prometheus.CounterOpts{Name: "other"}))
	counter.Add(3)
	histogram.WithLabelValues("low").Observe(0.5)
	histogram.WithLabelValues("low").Observe(2)
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
		case "/forbidden":
			w.WriteHeader(http.StatusForbidden)
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
		cpu, _ := read.sum(cpuSeconds, nil)
		waited, _ := read.sum(queueSeconds, where{"priority_level": {"low"}})
		if cpu != 3 || waited != 2.5 || len(read) != 2 {
			t.Errorf("%s: CPU %v, waited %v, %d names; want 3, 2.5, 2", path, cpu, waited, len(read))
		}
	}
	if !strings.HasPrefix(binary, "application/vnd.google.protobuf") {
		t.Errorf("the page came as %q; want the binary form", binary)
	}
	for _, path := range []string{"/forbidden", "/missing"} {
		if read, err := fetchPage(t.Context(), http.DefaultClient, server.URL+path); read != nil || err != nil {
			t.Errorf("%s: %v, %v; want nil, nil", path, read, err)
		}
	}
	if _, err := fetchPage(t.Context(), http.DefaultClient, server.URL+"/broken"); err == nil {
		t.Error("/broken: no error")
	}
}

// What one of several API servers counts is not what the run cost.
func TestSeveralServersAreNotScraped(t *testing.T) {
	for addresses, want := range map[int]bool{0: false, 1: false, 3: true} {
		scraped := false
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/metrics" {
				scraped = true
				return
			}
			w.Header().Set("Content-Type", "application/json")
			endpoints := strings.TrimSuffix(strings.Repeat(`{"addresses":["192.0.2.1"]},`, addresses), ",")
			fmt.Fprintf(w, `{"kind":"EndpointSliceList","apiVersion":"discovery.k8s.io/v1","items":[{"endpoints":[%s]}]}`, endpoints)
		}))
		on, err := newTarget(&rest.Config{Host: server.URL}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if on.several = on.manyServers(t.Context()); on.several != want {
			t.Errorf("%d addresses: several %v; want %v", addresses, on.several, want)
		}
		if _, err := on.Scrape(t.Context()); err != nil || scraped == want {
			t.Errorf("%d addresses: scraped %v, %v", addresses, scraped, err)
		}
		server.Close()
	}
}
