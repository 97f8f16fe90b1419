package kit

import (
	"context"
	"slices"
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
	"coapply.dev/apply/breaker"
	"coapply.dev/platform/controllers"
	"coapply.dev/platform/controllers/setup"
)

// Platform is the reconcilers of cmd/manager in this process, with every write of
// theirs counted.
type Platform struct {
	Namespace string               // the only one that they watch; "" is all
	See       func(*cache.Options) // narrows what those of a platform without a namespace watch; may be nil
	Client    client.Client        // the test's own, without a cache
	Cached    client.Reader        // what the reconcilers see
	Config    func() *rest.Config
	Writes    WriteLog
	Applies   ApplyLog
	Only      []func(ctrl.Manager, setup.Options) error // the reconcilers to run; nil are those of cmd/manager

	Breaker *breaker.Breaker // nil: every force is sent
}

// clusterWide are the reconcilers of kinds without a namespace: tests that run side
// by side on one cluster would get into each other's way with them.
var clusterWide = []string{"user", "license", "nodemaintenance"}

// NewPlatform returns a Platform, to be run, for a namespace of the test's own.
func NewPlatform(t *testing.T) *Platform {
	t.Helper()
	p := &Platform{Client: NewClient(t, Cluster(t).Config()), Config: Cluster(t).Config}
	p.Namespace = NewNamespace(t, p.Client)
	return p
}

// StartPlatform runs the reconcilers of namespaced kinds for a namespace of the
// test's own.
func StartPlatform(t *testing.T, replicas apply.Decision) *Platform {
	t.Helper()
	return StartPlatformAs(t, Cluster(t).Config(), replicas)
}

// StartPlatformAs is StartPlatform with a configuration for the manager.
func StartPlatformAs(t *testing.T, manager *rest.Config, replicas apply.Decision) *Platform {
	t.Helper()
	p := NewPlatform(t)
	p.Run(t, manager, replicas)
	return p
}

// Run starts the manager and stops it at the end of the test.
func (p *Platform) Run(t *testing.T, restConfig *rest.Config, replicas apply.Decision) (stop func()) {
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
func (p *Platform) start(restConfig *rest.Config, replicas apply.Decision) (end func() error, err error) {
	restConfig = rest.CopyConfig(restConfig)
	restConfig.Wrap(p.Writes.Wrap)
	restConfig.Wrap(apply.RecordExchange)
	cached := setup.Cache()
	if p.Namespace != "" {
		cached.DefaultNamespaces = map[string]cache.Config{p.Namespace: {}}
	}
	if p.See != nil {
		p.See(&cached)
	}
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:  Scheme,
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
	options := setup.Options{Replicas: replicas}
	with := []coapply.Option{coapply.WithMetrics(&p.Applies)}
	if p.Breaker != nil {
		with = append(with, coapply.WithBreaker(p.Breaker))
	}
	if options.Runtime, err = coapply.New(mgr, with...); err != nil {
		return nil, err
	}
	for _, add := range p.reconcilers() {
		if err := add(mgr, options); err != nil {
			return nil, err
		}
	}
	p.Cached = mgr.GetClient()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	return func() error { cancel(); return <-done }, nil
}

func (p *Platform) reconcilers() (all []func(ctrl.Manager, setup.Options) error) {
	if p.Only != nil {
		return p.Only
	}
	for _, c := range controllers.All() {
		if c.Setup != nil && (p.Namespace == "" || !slices.Contains(clusterWide, c.Name)) {
			all = append(all, c.Setup)
		}
	}
	return all
}

// sharedPlatform is a control plane of its own with every reconciler, started by the
// first test that needs it. Its tests name their objects so that they differ.
var sharedPlatform = sync.OnceValues(func() (*Platform, error) {
	c, err := StartCluster(context.Background(), "platform", 5)
	if err != nil {
		return nil, err
	}
	p := &Platform{Config: c.Config}
	if p.Breaker, err = breaker.New(breaker.Config{}); err != nil {
		return nil, err
	}
	if p.Client, err = newClient(c.Config()); err != nil {
		return nil, err
	}
	end, err := p.start(c.Config(), apply.Force)
	if err != nil {
		return nil, err
	}
	OnStop(func(context.Context) error { return end() })
	return p, nil
})

// WholePlatform runs every reconciler, for the whole of a control plane that its
// tests share.
func WholePlatform(t *testing.T) *Platform {
	t.Helper()
	p, err := sharedPlatform()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Quiet waits until nothing has been written for so long, and returns what was
// written before.
func (p *Platform) Quiet(t *testing.T, rest time.Duration) []string {
	t.Helper()
	var sent []string
	for deadline := time.Now().Add(Patience); ; {
		Absence(t, rest, "more writes")
		last := p.Writes.Take()
		if len(last) == 0 {
			return sent
		}
		if sent = append(sent, last...); time.Now().After(deadline) {
			t.Fatalf("the platform never rests: %v", last)
		}
	}
}
