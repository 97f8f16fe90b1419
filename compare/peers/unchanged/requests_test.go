package unchanged

import (
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"coapply.dev/compare/target"
	"coapply.dev/compare/workloads/deployment"
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// opened is a world on a control plane of the test's own.
func opened(t testing.TB) (*World, *target.Target) {
	t.Helper()
	local, err := target.Local(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	w, err := Open(t.Context(), local)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w, local
}

// reconciling has a peer reconcile a Deployment that is as it wants it while others write to it all the time, so that each
// reconcile meets a resourceVersion that it has not met before. It returns what was sent, by method, and the writes of others.
func reconciling(t testing.TB, w *World, p Peer, more func() bool) (sent map[string]int, foreign int64) {
	t.Helper()
	name := "unchanged-" + time.Now().Format("150405.000000000")
	if err := deployment.Prepare(t.Context(), w.Admin, w.Namespace, name, deployment.Managers); err != nil {
		t.Fatal(err)
	}
	process, counter, err := w.Process(deployment.Workload)
	if err != nil {
		t.Fatal(err)
	}
	reconcile, err := p.New(process)
	if err != nil {
		t.Fatal(err)
	}
	others := w.Disturb(t.Context(), name)
	defer others.Stop()
	for version := ""; more(); {
		if version, err = w.Changed(t.Context(), name, version); err != nil {
			t.Fatal(err)
		}
		err := reconcile(t.Context(), deployment.Intent(w.Namespace, name, 0, deployment.Start))
		if err != nil && !apierrors.IsConflict(err) { // who fails by a stale write comes again
			t.Fatal(err)
		}
	}
	return counter.Take(), others.Writes.Load()
}

func sum(sent map[string]int) (n int) {
	for _, count := range sent {
		n += count
	}
	return n
}

// TestRequests counts what each peer sends in reconciles that have nothing to change, each after a write of another
// manager.
func TestRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("a control plane of its own: make soak runs it, and so does go test without -short")
	}
	w, _ := opened(t)
	const number = 12
	for _, p := range all() {
		least, most := number, number // one request each
		switch p.Name {
		case ours, "Extract + DeepEqual", "CreateOrUpdate":
			least, most = 0, 0
		case "fluxcd/pkg/ssa": // a GET and a dry run, and an apply where others wrote in between
			least, most = 2*number, 3*number
		case "resourceVersion cache": // what changed may be its own apply
			least = number / 3
		}
		t.Run(p.Name, func(t *testing.T) {
			done := 0
			sent, foreign := reconciling(t, w, p, func() bool { done++; return done <= number })
			if n := sum(sent); n < least || n > most || foreign == 0 {
				t.Errorf("it sent %v, want %d to %d requests; %d writes of others, want some", sent, least, most, foreign)
			}
		})
	}
}

// BenchmarkRequests reports what an unchanged reconcile of each peer sends.
func BenchmarkRequests(b *testing.B) {
	w, _ := opened(b)
	for _, p := range all() {
		b.Run(p.Name, func(b *testing.B) {
			sent, _ := reconciling(b, w, p, b.Loop)
			b.ReportMetric(float64(sum(sent))/float64(b.N), "requests/op")
		})
	}
}
