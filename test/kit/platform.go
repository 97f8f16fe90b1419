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

// Platform runs the reconcilers of cmd/manager in the test process, and records their writes.
type Platform struct {
	Namespace string               // the only namespace that the reconcilers watch; "" means all
	See       func(*cache.Options) // changes the options of the cache; may be nil
	Client    client.Client        // the client of the test, without a cache
	Cached    client.Reader        // the client of the reconcilers, with a cache
	Config    func() *rest.Config
	Writes    WriteLog
	Applies   ApplyLog
	Only      []func(ctrl.Manager, setup.Options) error // the reconcilers to run; nil means those of cmd/manager

	Breaker *breaker.Breaker // nil: forced applies are not limited
}

// clusterWide are the reconcilers of cluster-scoped kinds. In tests that run in parallel on one cluster, these
// reconcilers would disturb each other.
var clusterWide = []string{"user", "license", "nodemaintenance"}

// NewPlatform returns a Platform for a new namespace. Its method Run starts the reconcilers.
func NewPlatform(t *testing.T) *Platform {
	t.Helper()
	p := &Platform{Client: NewClient(t, Cluster(t).Config()), Config: Cluster(t).Config}
	p.Namespace = NewNamespace(t, p.Client)
	return p
}

// StartPlatform runs the reconcilers of namespaced kinds for a new namespace.
func StartPlatform(t *testing.T, replicas apply.Decision) *Platform {
	t.Helper()
	return StartPlatformAs(t, Cluster(t).Config(), replicas)
}

// StartPlatformAs is like StartPlatform, with the given client configuration for the manager.
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

// start starts the manager. end stops it. A platform without a namespace also runs the reconcilers in clusterWide.
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

// sharedPlatform starts a separate control plane and all reconcilers, when the first test needs them. Its tests must
// use different names for their objects.
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

// WholePlatform returns a Platform with all reconcilers, for all namespaces of a separate control plane. All its tests
// share it.
func WholePlatform(t *testing.T) *Platform {
	t.Helper()
	p, err := sharedPlatform()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Quiet waits until there has been no write for the given time, and returns the writes that were recorded until then.
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
