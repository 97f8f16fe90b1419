package apply

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/apply/lanes"
	"coapply.dev/fieldowners"
	"coapply.dev/internal/recent"
)

// neverWritten is a resourceVersion that no object has: etcd's revisions of objects begin at 2.
// An apply that carries it creates an absent object, and is refused, forced or not, if the
// object exists. ("0" means no resourceVersion.)
const neverWritten = "1"

// target holds what a call knows about the object to which it writes.
type target struct {
	uid      types.UID     // to which writes are pinned; "" pins them to none
	found    bool          // the uid was found for Intent.Belongs, and not given by the caller
	absent   bool          // no object has the name, as far as is known: create exclusively
	doubtful bool          // the cache does not show an object that may be applied to: read live first
	version  string        // at which an object that must exist was read
	read     client.Object // as the caller or the cache has it, until a request is sent; never written to
}

// pin returns the pin of an apply before the object is read live.
func (t target) pin() pin {
	p := pin{uid: t.uid}
	if t.absent {
		p.resourceVersion = neverWritten
	}
	return p
}

// uidGiven reports whether the caller pinned the intent to a uid.
func (t target) uidGiven() bool { return t.uid != "" && !t.found }

// pinnedRef returns the reference of the object with the uid to which writes are pinned.
func (c *call) pinnedRef() ObjectRef {
	ref := c.intent.ref
	ref.UID = c.target.uid
	return ref
}

// aim does what depends on the object in the cache: MustExist and Belongs.
func (c *call) aim(ctx context.Context) error {
	if !c.intent.MustExist && !c.intent.fromBirth() {
		return nil
	}
	requests := c.exchange.Requests()
	cached, err := c.cached(ctx)
	if c.intent.MustExist && errors.Is(err, errAbsent) && c.exchange.Requests() == requests {
		cached, err = c.readWhole(ctx) // a cache that is behind does not show a new object
	}
	switch {
	case c.intent.MustExist && err == nil && !c.takes(c.intent.Intent, cached):
		err = errAbsent
	case c.intent.fromBirth() && (err == nil || errors.Is(err, errAbsent)):
		c.expect(cached)
	}
	if c.intent.MustExist && err == nil {
		err = c.pinTo(cached)
	}
	if !c.intent.MustExist && errors.Is(err, errAbsent) {
		return nil
	}
	return err
}

// cached returns the object that the no-op check has read, or reads the object by the client.
func (c *call) cached(ctx context.Context) (client.Object, error) {
	if c.target.read != nil {
		return c.target.read, nil
	}
	object, err := c.readCached(ctx)
	if err == nil {
		c.target.read = object
	}
	return object, err
}

// pinTo pins the call to the object that was read.
func (c *call) pinTo(object client.Object) error {
	if c.target.uid != "" && c.target.uid != object.GetUID() {
		return &UIDMismatchError{Object: c.pinnedRef(), Err: fmt.Errorf("the object read has uid %s", object.GetUID())}
	}
	if c.target.uid = object.GetUID(); c.target.uid == "" {
		return errors.New("it cannot be pinned: the object read has no uid")
	}
	c.target.version = object.GetResourceVersion()
	return nil
}

// fromBirth reports whether the object is created exclusively, or is the caller's by Belongs.
func (i Intent) fromBirth() bool { return i.Belongs != nil && !i.MustExist }

// expect sets the target by the object in the cache; cached is nil if the cache has none. An
// object that the cache does not have yet may be one that this Applier made a moment ago.
func (c *call) expect(cached client.Object) {
	switch t := &c.target; {
	case t.uid != "": // the caller knows, and nothing is created
		t.doubtful = cached == nil || cached.GetUID() != t.uid || !c.takes(c.intent.Intent, cached)
	case cached == nil:
		uid, known := c.madeLately(c.ref)
		t.uid, t.found, t.absent = uid, known, !known
	case c.takes(c.intent.Intent, cached):
		t.uid, t.found = cached.GetUID(), true
	default:
		t.doubtful = true
	}
}

// unexpected reports whether an apply that was refused, and not for an ownership conflict, shows
// that the object is not the expected one.
func (c *call) unexpected(refused error) bool {
	return c.intent.fromBirth() && (c.target.absent || c.target.found) &&
		(IsStaleWrite(refused) || wire.IsImmutableUID(refused))
}

// judgeBirth sets by the live object, nil if there is none, to what the next write is pinned.
// It returns a NotOursError if the object is somebody else's.
func (c *call) judgeBirth(live *unstructured.Unstructured) error {
	t := &c.target
	given := t.uidGiven()
	t.absent, t.doubtful = live == nil, false
	switch {
	case live == nil && !given:
		t.uid, t.found = "", false
	case live == nil || given && t.uid != live.GetUID(): // readForSettling returns the error
	case !c.takes(c.intent.Intent, live):
		return &NotOursError{Object: c.ref.as(live), Owner: ownerOf(live), Managers: managersOf(live)}
	case !given:
		t.uid, t.found = live.GetUID(), true
	}
	return nil
}

// takes reports whether the intent may be applied to an object that exists. It calls
// Intent.Belongs with the object in the Go type that the client has for its kind. It is false
// if only the metadata was read.
func (c *call) takes(intent Intent, object client.Object) bool {
	return intent.Belongs == nil || belongs(intent.Belongs, object, c.emptyObject)
}

func belongs(ask func(client.Object) bool, object client.Object, empty func() client.Object) bool {
	switch read := object.(type) {
	case *metav1.PartialObjectMetadata:
		return false
	case runtime.Unstructured:
		if known := empty(); runtime.DefaultUnstructuredConverter.FromUnstructured(read.UnstructuredContent(), known) == nil {
			object = known
		}
	}
	return ask(object)
}

// made holds, for a moment, the uids of objects that were applied with Belongs: the cache may
// not have them yet.
type made = recent.Cache[lanes.Key, madeObject]

type madeObject struct {
	uid types.UID
	at  time.Time
}

// madeFor is how long a cache may lag. An object that it does not have after that is gone.
const madeFor = 10 * time.Second

// madeLately returns the uid of an object that was applied with Belongs a moment ago.
func (a *Applier) madeLately(ref ObjectRef) (uid types.UID, ok bool) {
	object, ok := a.made.Get(ref.Key())
	if !ok || time.Since(object.at) > madeFor {
		return "", false
	}
	return object.uid, true
}

func (c *call) madeIt() {
	if c.intent.fromBirth() && !c.dryRun && c.ref.UID != "" {
		c.made.Put(c.ref.Key(), madeObject{c.ref.UID, time.Now()})
	}
}

func ownerOf(object metav1.Object) string {
	if owner := metav1.GetControllerOf(object); owner != nil {
		return fmt.Sprintf("%s %s", owner.Kind, owner.Name)
	}
	return ""
}

func managersOf(object metav1.Object) (managers []fieldowners.Manager) {
	ownership, _ := fieldowners.ParseReadable(object.GetManagedFields())
	for _, entry := range ownership.Entries() {
		managers = append(managers, entry.Manager)
	}
	return managers
}

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
