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

// cacheReads reads a cache without being held up by it. An informer whose list or watch is
// refused never gets its objects, and a read from it lasts as long as the context. Here it
// lasts a second; later reads of the kind wait 20 ms, and one a minute waits a second again.
type cacheReads struct {
	reader client.Reader
	failed *sync.Map // schema.GroupVersionKind to *failedReads
}

func newCacheReads(reader client.Reader) *cacheReads { return &cacheReads{reader, &sync.Map{}} }

// by returns the same reads, through another reader.
func (r *cacheReads) by(reader client.Reader) *cacheReads { return &cacheReads{reader, r.failed} }

type failedReads struct {
	mu   sync.Mutex
	next time.Time // when a read may wait for a second again
}

const (
	readPatience = time.Second
	briefly      = 20 * time.Millisecond
	readRetry    = time.Minute
)

// errNotCached says that the cache does not give objects of a kind.
var errNotCached = errors.New("the cache does not give objects of this kind")

// stuck reports whether the kind could not be read the last time.
func (r *cacheReads) stuck(kind schema.GroupVersionKind) bool {
	_, stuck := r.failed.Load(kind)
	return stuck
}

// readFrom reads the object of the call, or returns errNotCached.
func (c *call) readFrom(ctx context.Context, reads *cacheReads, object client.Object, options ...client.GetOption) error {
	kind, timeout := c.ref.GroupVersionKind, readPatience
	before, stuck := reads.failed.Load(kind)
	if stuck && !before.(*failedReads).mayWait() {
		timeout = briefly // an informer that has its objects gives them at once
	}
	reading := withPatience(ctx, timeout)
	defer reading.end()
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
	if _, told := reads.failed.LoadOrStore(kind, &failedReads{next: time.Now().Add(readRetry)}); !told {
		logr.FromContextOrDiscard(ctx).Error(err, "the cache does not give objects of this kind: are get, list and watch granted, "+
			"in all namespaces unless the cache has fewer? Until it does, each intent of the kind is sent, and what must exist or must be the caller's own is read live",
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

// mayWait reports whether this read may wait for a second, as one a minute may.
func (f *failedReads) mayWait() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if now.Before(f.next) {
		return false
	}
	f.next = now.Add(readRetry)
	return true
}
