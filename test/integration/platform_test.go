package integration

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/contention"
	"coapply.dev/internal/controller"
	"coapply.dev/internal/controller/fights"
	"coapply.dev/internal/controller/setup"
	"coapply.dev/internal/localcluster"
)

// platform is the reconcilers of cmd/manager in this process, with every write of
// theirs counted.
type platform struct {
	namespace string        // the only one that they watch; "" is all
	client    client.Client // the test's own, without a cache
	cached    client.Reader // what the reconcilers see
	config    func() *rest.Config
	writes    *writeLog
	applies   *applyLog

	contention *contention.State // nil: nobody looks for fights
}

// clusterWide are the reconcilers of kinds without a namespace: tests that run side
// by side on one cluster would get into each other's way with them.
var clusterWide = []string{"user", "license", "nodemaintenance"}

// startPlatform runs the reconcilers of namespaced kinds for a namespace of the
// test's own.
func startPlatform(t *testing.T, replicas apply.Decision) *platform {
	t.Helper()
	restConfig := cluster(t).Config()
	p := &platform{client: newClient(t, restConfig), config: cluster(t).Config, writes: &writeLog{}, applies: &applyLog{}}
	p.namespace = newNamespace(t, p.client)
	p.run(t, restConfig, replicas)
	return p
}

// run starts the manager and stops it at the end of the test.
func (p *platform) run(t *testing.T, restConfig *rest.Config, replicas apply.Decision) (stop func()) {
	t.Helper()
	end, err := p.start(restConfig, replicas)
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		if err := end(); err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// start runs the manager until it is ended. A platform without a namespace has every
// reconciler, also those that are clusterWide.
func (p *platform) start(restConfig *rest.Config, replicas apply.Decision) (end func() error, err error) {
	restConfig = rest.CopyConfig(restConfig)
	restConfig.Wrap(p.writes.wrap)
	restConfig.Wrap(apply.RecordExchange)
	cached := setup.Cache()
	if p.namespace != "" {
		cached.DefaultNamespaces = map[string]cache.Config{p.namespace: {}}
	}
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:   cached,
		Client:  client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}},
		Controller: config.Controller{
			SkipNameValidation:      new(true), // several managers in one process
			ReconciliationTimeout:   time.Minute,
			MaxConcurrentReconciles: 4, // as cmd/manager has it
		},
	})
	if err != nil {
		return nil, err
	}
	options := setup.Options{Replicas: replicas, Contention: p.contention}
	if options.Runtime, err = setup.NewRuntime(mgr, p.contention, coapply.WithMetrics(p.applies)); err != nil {
		return nil, err
	}
	for _, c := range controller.All() {
		if p.namespace != "" && slices.Contains(clusterWide, c.Name) {
			continue
		}
		if err := c.Setup(mgr, options); err != nil {
			return nil, err
		}
	}
	p.cached = mgr.GetClient()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	return func() error { cancel(); return <-done }, nil
}

// sharedPlatform is a control plane of its own with every reconciler, started by the
// first test that needs it. Its tests name their objects so that they differ.
var sharedPlatform = sync.OnceValues(func() (*platform, error) {
	c, err := localcluster.Start(context.Background(), localcluster.Options{Name: "platform", Nodes: 5, Log: startLog()})
	if err != nil {
		return nil, err
	}
	onStop(c.Stop)
	if err := installCRDs(c.Config()); err != nil {
		return nil, err
	}
	restConfig := c.Config()
	restConfig.Wrap(apply.RecordExchange)
	p := &platform{config: c.Config, writes: &writeLog{}, applies: &applyLog{}}
	if p.contention, err = contention.New(fights.Config()); err != nil {
		return nil, err
	}
	if p.client, err = client.New(restConfig, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	end, err := p.start(c.Config(), apply.Force)
	if err != nil {
		return nil, err
	}
	onStop(func(context.Context) error { return end() })
	return p, nil
})

// wholePlatform runs every reconciler, for the whole of a control plane that its
// tests share.
func wholePlatform(t *testing.T) *platform {
	t.Helper()
	p, err := sharedPlatform()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// writeLog keeps method and path of each request that is no read.
type writeLog struct {
	mu    sync.Mutex
	sent  []string
	taken int // of them
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
	sent := slices.Clone(w.sent[w.taken:])
	w.taken = len(w.sent)
	return sent
}

// about gives all that was ever written to what has such a name in its path.
func (w *writeLog) about(name string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.sent), func(request string) bool { return !strings.Contains(request, name) })
}

// applyLog keeps the observations of appliers and of get-modify-updates.
type applyLog struct {
	mu      sync.Mutex
	applies []apply.ApplyObservation
	updates []apply.UpdateObservation
}

func (l *applyLog) ObserveUpdate(o apply.UpdateObservation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.updates = append(l.updates, o)
}

func (l *applyLog) takeUpdates() []apply.UpdateObservation {
	l.mu.Lock()
	defer l.mu.Unlock()
	updates := l.updates
	l.updates = nil
	return updates
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
