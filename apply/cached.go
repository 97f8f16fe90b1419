package apply

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/wire"
)

// cacheReads reads a cache with a time limit. An informer whose list or watch is refused never has
// its objects, and a read from the informer lasts as long as the context. Here such a read lasts a
// second, and the cache is not asked for objects of the kind for a minute.
type cacheReads struct {
	reader client.Reader
	failed *sync.Map // from schema.GroupVersionKind to the time.Time of the next read
}

func newCacheReads(reader client.Reader) *cacheReads { return &cacheReads{reader, &sync.Map{}} }

// by returns the same reads, through another reader.
func (r *cacheReads) by(reader client.Reader) *cacheReads { return &cacheReads{reader, r.failed} }

const (
	readTimeout = time.Second
	readRetry   = time.Minute
)

// errNotCached says that the cache does not give objects of a kind.
var errNotCached = errors.New("the cache does not give objects of this kind")

// stuck reports whether the last read of the kind failed.
func (r *cacheReads) stuck(kind schema.GroupVersionKind) bool {
	_, stuck := r.failed.Load(kind)
	return stuck
}

// readFrom reads the object of the call, or returns errNotCached.
func (c *call) readFrom(ctx context.Context, reads *cacheReads, object client.Object, options ...client.GetOption) error {
	kind := c.ref.GroupVersionKind
	next, stuck := reads.failed.Load(kind)
	if stuck {
		if at, _ := next.(time.Time); time.Now().Before(at) {
			return errNotCached
		}
		reads.failed.Store(kind, time.Now().Add(readRetry)) // other calls do not wait meanwhile
	}
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	err := reads.reader.Get(reading, c.ref.NamespacedName, object, options...)
	switch {
	case err == nil || apierrors.IsNotFound(err):
		if stuck {
			reads.failed.Delete(kind)
		}
		return err
	case ctx.Err() != nil:
		return err
	case reading.Err() == nil && !isAnswer(err): // an error of the cache itself: it has no informer for the kind or for the namespace
		return errNotCached
	case reading.Err() == nil && !apierrors.IsForbidden(err):
		return err
	case !apierrors.IsTimeout(err) && !apierrors.IsForbidden(err): // a read that waits for a write of ours, or is slow
		return errNotCached
	}
	if _, told := reads.failed.LoadOrStore(kind, time.Now().Add(readRetry)); !told {
		logr.FromContextOrDiscard(ctx).Error(err, "the cache does not give objects of this kind: are get, list and watch granted, "+
			"in all namespaces unless the cache has fewer? The cache is asked again every minute. Until it answers, each intent of the kind is sent, "+
			"and an object that must exist or must be the caller's own is read live",
			"resource", c.resource())
	}
	return errNotCached
}

// isAnswer reports whether an error is a response of the API server, or a failure to reach the
// API server.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	_, retryable := wire.RetryAfter(err)
	return retryable || errors.As(err, &status)
}

// resource returns the resource as rights name it, such as deployments.apps.
func (c *call) resource() string {
	mapping, err := c.client.RESTMapper().RESTMapping(c.ref.GroupKind(), c.ref.Version)
	if err != nil {
		return c.ref.GroupKind().String()
	}
	return mapping.Resource.GroupResource().String()
}
