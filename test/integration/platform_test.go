package integration

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"coapply.dev/apply"
	"coapply.dev/internal/controller"
	"coapply.dev/internal/controller/devbox"
)

// platform is the reconcilers of cmd/manager in this process, for one namespace,
// with every write of theirs counted.
type platform struct {
	namespace string
	client    client.Client // the test's own, without a cache
	writes    *writeLog
	applies   *applyLog
}

func startPlatform(t *testing.T, replicas apply.Decision) *platform {
	t.Helper()
	restConfig := cluster(t).Config()
	p := &platform{client: newClient(t, restConfig), writes: &writeLog{}, applies: &applyLog{}}
	p.namespace = newNamespace(t, p.client)
	p.run(t, restConfig, replicas)
	return p
}

// run starts the manager and stops it at the end of the test.
func (p *platform) run(t *testing.T, restConfig *rest.Config, replicas apply.Decision) (stop func()) {
	t.Helper()
	restConfig = rest.CopyConfig(restConfig)
	restConfig.Wrap(p.writes.wrap)
	restConfig.Wrap(apply.RecordExchange)
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{
			ReaderFailOnMissingInformer: true,
			DefaultNamespaces:           map[string]cache.Config{p.namespace: {}},
		},
		Client: client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}},
		Controller: config.Controller{
			SkipNameValidation:    new(true), // several managers in one process
			ReconciliationTimeout: time.Minute,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range controller.All() {
		if err := c.Setup(mgr, devbox.Options{Metrics: p.applies, Replicas: replicas}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// writeLog keeps method and path of each request that is no read.
type writeLog struct {
	mu   sync.Mutex
	sent []string
}

func (w *writeLog) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method != http.MethodGet {
			w.mu.Lock()
			w.sent = append(w.sent, request.Method+" "+request.URL.Path)
			w.mu.Unlock()
		}
		return next.RoundTrip(request)
	})
}

func (w *writeLog) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	sent := w.sent
	w.sent = nil
	return sent
}

// applyLog keeps the observations of appliers.
type applyLog struct {
	apply.NoMetrics

	mu      sync.Mutex
	applies []apply.ApplyObservation
}

func (l *applyLog) ObserveApply(o apply.ApplyObservation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.applies = append(l.applies, o)
}

func (l *applyLog) take() []apply.ApplyObservation {
	l.mu.Lock()
	defer l.mu.Unlock()
	applies := l.applies
	l.applies = nil
	return applies
}

// quiet waits until nothing has been written for so long, and gives what was
// written before.
func (p *platform) quiet(t *testing.T, rest time.Duration) []string {
	t.Helper()
	var sent []string
	for deadline := time.Now().Add(time.Minute); ; {
		time.Sleep(rest)
		last := p.writes.take()
		if len(last) == 0 {
			return sent
		}
		if sent = append(sent, last...); time.Now().After(deadline) {
			t.Fatalf("the platform never rests: %v", last)
		}
	}
}

// waitFor waits until check gives "", and fails with what it gave last.
func waitFor(t *testing.T, what string, check func() string) {
	t.Helper()
	eventually(t, what, func() error {
		if missing := check(); missing != "" {
			return errors.New(missing)
		}
		return nil
	})
}
