package peers

import (
	"net/http"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare/target"
)

// world is what the process of a controller has, and an administrator's client beside it.
type world struct {
	*target.Target

	admin client.Client // its requests are not counted
	// cached reads from cache and writes to the API server, like the client of a manager. live reads from the API server.
	cached, live client.Client
	cache        cache.Cache // has the Deployments of the namespace, with their managed fields
	schemas      openapi.Client
	sent         counter // counts the requests of cached and live
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{Target: controlPlane(t)}
	var err error
	w.admin, err = client.New(w.Admin(), client.Options{})
	fatal(t, err)
	mapper := w.admin.RESTMapper()
	server, err := discovery.NewDiscoveryClientForConfig(w.Admin())
	fatal(t, err)
	w.schemas = server.OpenAPIV3()
	w.cache, err = cache.New(w.User(), cache.Options{Mapper: mapper, DefaultNamespaces: map[string]cache.Config{w.Namespace(): {}}})
	fatal(t, err)
	run(t, w.cache.Start)
	_, err = w.cache.GetInformer(t.Context(), &appsv1.Deployment{})
	fatal(t, err)
	counted := w.sent.counted(w.User())
	w.live, err = client.New(counted, client.Options{Mapper: mapper})
	fatal(t, err)
	w.cached, err = client.New(counted, client.Options{Mapper: mapper, Cache: &client.CacheOptions{Reader: w.cache}})
	fatal(t, err)
	return w
}

// counter counts requests: all of them, and those that are not reads.
type counter struct{ all, writes atomic.Int64 }

// counted returns a client configuration whose requests are counted.
func (c *counter) counted(config *rest.Config) *rest.Config {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			c.all.Add(1)
			if request.Method != http.MethodGet {
				c.writes.Add(1)
			}
			return next.RoundTrip(request)
		})
	})
	return config
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
