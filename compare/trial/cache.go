package trial

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
)

// cache is the cache for arms and workloads of a trial. It has a connection of its own, whose requests are not counted.
type cache struct {
	reader     client.Reader
	connection *connection
	cancel     context.CancelFunc
	done       chan struct{}
}

// startCache starts a cache and waits until it has synced.
func startCache(ctx context.Context, s *session, namespace string, kinds []compare.Kind, shared bool) (*cache, error) {
	connected, err := connect(s.user, func(next http.RoundTripper) http.RoundTripper { return delay(next, s.rtt) })
	if err != nil {
		return nil, fmt.Errorf("making the client of the cache: %w", err)
	}
	informers, err := ctrlcache.New(connected.config, ctrlcache.Options{
		HTTPClient: connected.http, Scheme: scheme, Mapper: s.mapper,
		DefaultNamespaces:            map[string]ctrlcache.Config{namespace: {}},
		DefaultUnsafeDisableDeepCopy: &shared,
	})
	if err != nil {
		return nil, fmt.Errorf("making the cache: %w", err)
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &cache{reader: informers, connection: connected, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		_ = informers.Start(running) // an error shows in WaitForCacheSync
	}()
	for _, kind := range kinds {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kind.GroupVersionKind)
		if _, err := informers.GetInformer(ctx, object); err != nil {
			c.stop()
			return nil, fmt.Errorf("starting the informer of %s: %w", kind.Resource, err)
		}
	}
	if !informers.WaitForCacheSync(ctx) {
		c.stop()
		return nil, errors.New("the cache did not sync")
	}
	return c, nil
}

// stop ends the informers and waits until they have ended.
func (c *cache) stop() {
	c.cancel()
	<-c.done
	c.connection.close()
}
