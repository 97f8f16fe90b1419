// Package peers compares coapply with the other ways in which Go controllers bring objects to a desired state. Each way is
// written as its users write it. The benchmarks measure reconciles that have nothing to change, a manager process in a
// steady state, and how fast lanes adapt to another round-trip time. They print their results in the format of benchstat.
package peers

import (
	"context"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"coapply.dev/compare/target"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // log lines would break the lines of the benchmarks
	ctrllog.SetLogger(logr.Discard())
	if told := os.Getenv(orderVariable); told != "" {
		os.Exit(manage(told))
	}
	os.Exit(m.Run())
}

// controlPlane starts a control plane for one test.
func controlPlane(t testing.TB) *target.Target {
	t.Helper()
	if _, benchmark := t.(*testing.B); testing.Short() && !benchmark {
		t.Skip("starts a control plane of its own: make soak runs this test, and so does go test without -short")
	}
	on, err := target.Local(t.Context(), t.Output())
	fatal(t, err)
	t.Cleanup(func() { fatal(t, on.Close(context.Background())) })
	return on
}

// run runs a function until the test ends.
func run(t testing.TB, start func(context.Context) error) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = start(ctx) // after an error, the caches do not sync, which the test notices
	}()
	t.Cleanup(func() { cancel(); <-ended })
}

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
