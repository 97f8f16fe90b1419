package applytest

import (
	"context"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// NewManager returns a manager for controllers under test, whose clients and caches use the server. By default, the
// manager uses the server's scheme, has no metrics server, and permits several controllers with the same name in the
// process.
func NewManager(t testing.TB, s *Server, options ctrl.Options) ctrl.Manager {
	t.Helper()
	if options.Scheme == nil {
		options.Scheme = s.scheme
	}
	if options.Metrics.BindAddress == "" {
		options.Metrics = metricsserver.Options{BindAddress: "0"}
	}
	if options.Controller.SkipNameValidation == nil {
		options.Controller.SkipNameValidation = new(true)
	}
	mgr, err := ctrl.NewManager(s.Config(), options)
	if err != nil {
		t.Fatalf("applytest: making a manager: %v", err)
	}
	return mgr
}

// StartManager starts a manager, and waits until its caches have synced. The manager is stopped at the end of the test.
func StartManager(t testing.TB, mgr ctrl.Manager) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("applytest: running the manager: %v", err)
		}
	})
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("applytest: the manager's caches did not sync")
	}
}

// StartCache starts a cache that contains the server's objects of the given kinds, and waits until the cache has
// synced. The cache is stopped at the end of the test.
func StartCache(t testing.TB, s *Server, kinds ...client.Object) cache.Cache {
	t.Helper()
	started, err := cache.New(s.Config(), cache.Options{Scheme: s.scheme})
	if err != nil {
		t.Fatalf("applytest: making a cache: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	for _, kind := range kinds {
		if _, err := started.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
			t.Fatalf("applytest: making a cache: %v", err)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- started.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("applytest: running the cache: %v", err)
		}
	})
	if !started.WaitForCacheSync(ctx) {
		t.Fatal("applytest: the cache did not sync")
	}
	return started
}
