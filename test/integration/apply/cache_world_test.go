package apply

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/test/kit"
)

// newCache starts a cache of the namespace; strip has it drop managed fields.
func newCache(t *testing.T, namespace string, strip bool) cache.Cache {
	t.Helper()
	options := cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}}
	if strip {
		options.DefaultTransform = cache.TransformStripManagedFields()
	}
	return kit.StartCache(t, kit.Server(t), options)
}

// seen waits until the cache has the live object.
func seen(s *kit.Stage, informers client.Reader) {
	s.T.Helper()
	live := s.Live().GetResourceVersion()
	s.Must(wait.PollUntilContextTimeout(s.T.Context(), 5*time.Millisecond, kit.Patience, true, func(ctx context.Context) (bool, error) {
		object := s.Object(`{}`)
		err := informers.Get(ctx, client.ObjectKeyFromObject(object), object)
		return err == nil && object.GetResourceVersion() == live, client.IgnoreNotFound(err)
	}))
}

// cachedClient writes with one client and reads from a cache.
type cachedClient struct {
	client.Client

	reader client.Reader
}

func (c cachedClient) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return c.reader.Get(ctx, key, object, options...)
}
