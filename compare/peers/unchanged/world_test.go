package unchanged

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"coapply.dev/compare/target"
)

// World is one process's view. End it with Stop.
type World struct {
	// Admin is for preparing and for other writers; it is not counted.
	Admin     client.Client
	Namespace string
	// Cache has the Deployments of the namespace, with their managed fields.
	Cache cache.Cache
	// Schemas are the API server's, fetched as the administrator.
	Schemas openapi.Client

	user   *rest.Config
	mapper meta.RESTMapper
	cancel context.CancelFunc
	ended  chan struct{}
}

// Open returns when the cache has synced.
func Open(ctx context.Context, t *target.Target) (*World, error) {
	w := &World{Namespace: t.Namespace(), user: t.User(), ended: make(chan struct{})}
	adminHTTP, err := rest.HTTPClientFor(t.Admin())
	if err != nil {
		return nil, err
	}
	if w.mapper, err = apiutil.NewDynamicRESTMapper(t.Admin(), adminHTTP); err != nil {
		return nil, err
	}
	if w.Admin, err = client.New(t.Admin(), client.Options{HTTPClient: adminHTTP, Mapper: w.mapper}); err != nil {
		return nil, err
	}
	set, err := discovery.NewDiscoveryClientForConfigAndClient(t.Admin(), adminHTTP)
	if err != nil {
		return nil, err
	}
	w.Schemas = set.OpenAPIV3()
	err = w.startCache(ctx)
	return w, err
}

func (w *World) startCache(ctx context.Context) (err error) {
	w.Cache, err = cache.New(w.user, cache.Options{
		Mapper: w.mapper, DefaultNamespaces: map[string]cache.Config{w.Namespace: {}},
	})
	if err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w.cancel = cancel
	go func() {
		defer close(w.ended)
		_ = w.Cache.Start(running) // what is wrong, who waits for the sync finds out
	}()
	if _, err := w.Cache.GetInformer(ctx, &appsv1.Deployment{}); err != nil {
		w.Stop()
		return fmt.Errorf("cache of Deployments: %w", err)
	}
	return nil
}

// Stop returns when the cache has ended.
func (w *World) Stop() {
	w.cancel()
	<-w.ended
}

// Process returns what a peer needs to write as a field manager, and the counter of its requests.
func (w *World) Process(manager string) (Process, *Counter, error) {
	config, counter := Counted(w.user)
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return Process{}, nil, err
	}
	live, err := client.New(config, client.Options{HTTPClient: httpClient, Mapper: w.mapper})
	if err != nil {
		return Process{}, nil, err
	}
	cached, err := client.New(config, client.Options{
		HTTPClient: httpClient, Mapper: w.mapper, Cache: &client.CacheOptions{Reader: w.Cache},
	})
	if err != nil {
		return Process{}, nil, err
	}
	return Process{Client: cached, Live: live, Cache: w.Cache, Schemas: w.Schemas, Manager: manager}, counter, nil
}

// Counted is the configuration of a client whose requests are counted.
func Counted(config *rest.Config) (*rest.Config, *Counter) {
	counter := &Counter{}
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting{next, counter} })
	return config, counter
}

// Counter counts requests by their method.
type Counter struct {
	mu      sync.Mutex
	methods map[string]int
}

// Take returns the counts since the last time.
func (c *Counter) Take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.methods
	c.methods = nil
	return taken
}

type counting struct {
	next    http.RoundTripper
	counter *Counter
}

// RoundTrip implements http.RoundTripper.
func (c counting) RoundTrip(request *http.Request) (*http.Response, error) {
	method := request.Method
	if request.URL.Query().Has("dryRun") {
		method = "dry run"
	}
	c.counter.mu.Lock()
	if c.counter.methods == nil {
		c.counter.methods = map[string]int{}
	}
	c.counter.methods[method]++
	c.counter.mu.Unlock()
	return c.next.RoundTrip(request)
}
