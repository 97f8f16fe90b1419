package metrics_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/apply"
	"coapply.dev/apply/metrics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var updateGolden = flag.Bool("update", false, "rewrite the golden files")

var (
	deployment = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	pod        = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
)

// observed holds a few observations of each kind.
func observed(t *testing.T) (*prometheus.Registry, *metrics.Metrics) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	m, err := metrics.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	m.ObserveApply(apply.ApplyObservation{
		FieldManager: "power", Kind: deployment, Result: string(apply.Unchanged), Duration: 50 * time.Microsecond,
	})
	m.ObserveApply(apply.ApplyObservation{
		FieldManager: "power", Kind: deployment, Result: "Conflict", Requests: 3, Attempts: 2,
		Conflicts: map[apply.Decision]int{apply.Reject: 2, apply.Force: 1}, Duration: 20 * time.Millisecond, Loop: "a loop",
	})
	m.ObserveUpdate(apply.UpdateObservation{
		FieldManager: "power", Kind: pod, Verb: "RemoveFinalizer", Result: "Success",
		Attempts: 3, StaleWrites: 2, Duration: 300 * time.Millisecond, Waited: 20 * time.Millisecond,
	})
	return registry, m
}

func TestExposition(t *testing.T) {
	registry, _ := observed(t)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&got, family); err != nil {
			t.Fatal(err)
		}
	}
	const golden = "testdata/exposition.txt"
	if *updateGolden {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("exposition (-want +got), -update rewrites it:\n%s", diff)
	}
}

func TestLint(t *testing.T) {
	_, m := observed(t)
	problems, err := testutil.CollectAndLint(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// The table in the comment of the package names every metric with its labels.
func TestDocumented(t *testing.T) {
	doc, err := os.ReadFile("metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for line := range strings.Lines(string(doc)) {
		fields := strings.Fields(strings.TrimPrefix(line, "//"))
		if len(fields) > 2 && strings.HasPrefix(fields[0], "coapply_") {
			documented[fields[0]] = strings.Join(fields[1:], " ")
		}
	}
	registry, _ := observed(t)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	actual := map[string]string{}
	for _, family := range families {
		labels := []string{}
		for _, l := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		actual[family.GetName()] = strings.ToLower(family.GetType().String()) + " " + inOrder(labels)
	}
	if diff := cmp.Diff(actual, documented); diff != "" {
		t.Errorf("metrics (-actual +documented):\n%s", diff)
	}
}

// inOrder puts labels in the order of the table; a label that the order lacks
// shows as missing.
func inOrder(labels []string) string {
	var ordered []string
	for _, l := range []string{"field_manager", "kind", "verb", "result", "decision"} {
		for _, have := range labels {
			if have == l {
				ordered = append(ordered, l)
			}
		}
	}
	if len(ordered) != len(labels) {
		return strings.Join(labels, " ") + " (undocumented)"
	}
	return strings.Join(ordered, " ")
}

func TestNew(t *testing.T) {
	registry := prometheus.NewRegistry()
	first, err := metrics.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	second, err := metrics.New(registry)
	if err != nil || second != first {
		t.Errorf("a second New gave %p, %v; want the first %p", second, err, first)
	}
	labelled := prometheus.WrapRegistererWith(prometheus.Labels{"process": "a"}, prometheus.NewRegistry())
	third, err := metrics.New(labelled)
	if err != nil || third == first {
		t.Fatalf("another registry gave %p, %v; want metrics of its own", third, err)
	}
	if again, err := metrics.New(labelled); err != nil || again != third {
		t.Errorf("a second New through a wrapper gave %p, %v; want %p", again, err, third)
	}
	if _, err := metrics.New(nil); err == nil {
		t.Error("no registerer: no error")
	}
}

func TestNewBesideForeignMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	foreign := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "coapply_update_total", Help: "another"}, []string{"a"})
	registry.MustRegister(foreign)
	m, err := metrics.New(registry)
	if err == nil || m != nil || !strings.Contains(err.Error(), "registering the coapply metrics") {
		t.Fatalf("%v, %v; want an error", m, err)
	}
	if already := (prometheus.AlreadyRegisteredError{}); errors.As(err, &already) {
		t.Errorf("%v: reads as if ours were registered", err)
	}
	foreign.WithLabelValues("x").Inc()
	if families, err := registry.Gather(); err != nil || len(families) != 1 {
		t.Errorf("%d families, %v; nothing of ours may be left behind", len(families), err)
	}
}

// TestNewBesideOthersOfThatName: metrics that only look like ours are not counted into.
func TestNewBesideOthersOfThatName(t *testing.T) {
	first, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(struct{ prometheus.Collector }{first})
	if m, err := metrics.New(registry); err == nil || m != nil {
		t.Errorf("%v, %v; want an error", m, err)
	}
}

func TestConcurrentUse(t *testing.T) {
	registry, m := observed(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				m.ObserveUpdate(apply.UpdateObservation{FieldManager: "other", Kind: pod, Verb: "Do", Result: "Success", Attempts: 1})
				if _, err := registry.Gather(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	const want = `
# HELP coapply_update_total Get-modify-update calls by how they ended.
# TYPE coapply_update_total counter
coapply_update_total{field_manager="other",kind="Pod",result="Success",verb="Do"} 400
coapply_update_total{field_manager="power",kind="Pod",result="Success",verb="RemoveFinalizer"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "coapply_update_total"); err != nil {
		t.Error(err)
	}
}
