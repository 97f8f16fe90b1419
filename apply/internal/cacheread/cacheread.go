// Package cacheread reads objects from a cache with a time limit. Without a limit, a read would block until its context
// ends if the informer's list or watch is forbidden, because such an informer never syncs. Here, the read ends after a
// second, and then objects of the kind are not read from the cache for a minute.
package cacheread

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

// Reads reads from a cache with a time limit.
type Reads struct {
	reader client.Reader
	failed *sync.Map // by schema.GroupVersionKind of a failed read: the time.Time before which the cache is not read
}

// New returns a Reads that reads with the given reader.
func New(reader client.Reader) *Reads { return &Reads{reader, &sync.Map{}} }

// By returns a Reads with another reader, and the same record of failed reads.
func (r *Reads) By(reader client.Reader) *Reads { return &Reads{reader, r.failed} }

// Timeout limits a read. Retry is the time after a failed read during which objects of the kind are not read.
const (
	Timeout = time.Second
	Retry   = time.Minute
)

// ErrNotCached means that the cache did not return an object, although the object may exist: the cache has no informer
// for the kind, or its informer does not sync.
var ErrNotCached = errors.New("the cache does not return objects of this kind")

// Stuck reports whether the last read of the kind failed. While a kind is stuck, the cache is read once a minute.
func (r *Reads) Stuck(kind schema.GroupVersionKind) bool {
	_, stuck := r.failed.Load(kind)
	return stuck
}

// Get reads an object from the cache. The error is ErrNotCached if the cache does not return objects of the kind within
// Timeout, or has no informer for the kind or namespace. The argument resource returns the name of the kind's resource
// in RBAC rules, for the log.
func (r *Reads) Get(
	ctx context.Context, kind schema.GroupVersionKind, key client.ObjectKey, object client.Object, resource func() string, options ...client.GetOption,
) error {
	next, stuck := r.failed.Load(kind)
	if stuck {
		if at, _ := next.(time.Time); time.Now().Before(at) {
			return ErrNotCached
		}
		r.failed.Store(kind, time.Now().Add(Retry)) // other calls skip the cache meanwhile
	}
	reading, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	err := r.reader.Get(reading, key, object, options...)
	switch {
	case err == nil || apierrors.IsNotFound(err):
		if stuck {
			r.failed.Delete(kind)
		}
		return err
	case ctx.Err() != nil:
		return err
	case reading.Err() == nil && !isAnswer(err): // the cache has no informer for the kind or for the namespace
		return ErrNotCached
	case reading.Err() == nil && !apierrors.IsForbidden(err):
		return err
	case !apierrors.IsTimeout(err) && !apierrors.IsForbidden(err): // a slow read, or one that waits for a write of this process to arrive
		return ErrNotCached
	}
	if _, told := r.failed.LoadOrStore(kind, time.Now().Add(Retry)); !told {
		logr.FromContextOrDiscard(ctx).Error(err, "the cache does not return objects of this kind. Check that get, list and watch are granted in all "+
			"namespaces, or in the namespaces of the cache. The cache is asked again every minute. Until the cache answers, each intent of the kind is sent, "+
			"and objects of intents with MustExist or Belongs are read from the API server",
			"resource", resource())
	}
	return ErrNotCached
}

// isAnswer reports whether an error comes from the API server or the network, and not from the cache itself.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	_, retryable := wire.RetryAfter(err)
	return retryable || errors.As(err, &status)
}
