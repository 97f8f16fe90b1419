package kit

import (
	"context"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// StartCache returns a started cache, which has no informers yet. It is stopped at the end of the test.
func StartCache(t testing.TB, config *rest.Config, options cache.Options) cache.Cache {
	t.Helper()
	options.Scheme = Scheme
	started, err := cache.New(config, options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- started.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the cache: %v", err)
		}
	})
	// Start blocks until the cache is stopped. A read from a cache that is not started yet is an error.
	if !started.WaitForCacheSync(ctx) {
		t.Fatal("the cache did not start")
	}
	return started
}
