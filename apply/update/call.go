package update

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/wire"
)

// call is the state of one call of Do, Status, EnsureFinalizer or RemoveFinalizer.
type call[T client.Object] struct {
	*Updater
	verb[T]

	log    logr.Logger
	given  T // the caller's object, which is never changed
	ref    apply.ObjectRef
	waited time.Duration // the time for which all attempts waited for the object's lane
	result Result[T]
}

func run[T client.Object](ctx context.Context, u *Updater, object T, v verb[T]) (Result[T], error) {
	start := time.Now()
	c := &call[T]{Updater: u, verb: v, given: object}
	err := c.run(ctx)
	if u.config.Metrics == nil {
		return c.result, err
	}
	u.config.Metrics.ObserveUpdate(apply.UpdateObservation{
		FieldManager: u.config.FieldManager,
		Kind:         c.ref.GroupVersionKind,
		Verb:         v.name,
		Result:       resultOf(err),
		Attempts:     c.result.Attempts,
		StaleWrites:  c.result.StaleWrites,
		Duration:     time.Since(start),
		Waited:       c.waited,
	})
	return c.result, err
}

func (c *call[T]) run(ctx context.Context) error {
	var err error
	if c.ref, err = c.refer(c.given); err != nil {
		return err
	}
	if c.invalid != nil {
		return c.invalid
	}
	if settled, err := c.look(); settled {
		if log := logr.FromContextOrDiscard(ctx).V(1); err == nil && log.Enabled() { // most calls end here
			c.named(log).Info("nothing to write", "resourceVersion", c.result.Object.GetResourceVersion())
		}
		return err
	}
	c.log = c.named(logr.FromContextOrDiscard(ctx))
	c.result.Attempts, err = repeat(ctx, c.config.Backoff, c.ref, c.enter, c.try)
	if c.absentOK && apierrors.IsNotFound(err) {
		c.log.V(1).Info("the object does not exist, so there is nothing to do", "attempt", c.result.Attempts)
		return nil
	}
	return err
}

func (c *call[T]) named(log logr.Logger) logr.Logger {
	return log.WithValues("verb", c.name, "fieldManager", c.config.FieldManager, "kind", c.ref.Kind, "object", c.ref.NamespacedName)
}

// enter waits until this call has the object's lane. An attempt keeps the lane for its read and its write: a lane for
// the write alone could not prevent stale writes.
func (c *call[T]) enter(ctx context.Context) (inside context.Context, leave func(), err error) {
	start := time.Now()
	inside, leave, err = c.config.Lanes.Enter(ctx, c.ref.Key())
	c.waited += time.Since(start)
	return inside, leave, err
}

// try is one attempt in the lane: it reads the object, calls mutate, and writes the object. stale reports whether the
// last write of the attempt was stale. The caller must not conclude this from err, because an error of mutate may wrap
// a stale write to another object.
func (c *call[T]) try(ctx context.Context, this attempt) (stale bool, err error) {
	overtaken := false
	if handed := c.handed(ctx); handed != nil {
		ended, stale, err := c.writeUpon(ctx, this, handed)
		if ended {
			return false, err
		}
		overtaken = stale
	}
	live, err := c.read(ctx)
	if err != nil {
		return false, err
	}
	log := c.attempted(this, live)
	object, wanted, err := c.rejudge(ctx, live)
	switch {
	case err != nil:
		return false, err
	case wanted == nil:
		c.result.Object = object
		c.ledger.Read(c.ref.Key(), own, live.GetResourceVersion())
		log.V(1).Info("nothing to write")
	default:
		stale, err = c.send(ctx, log, this, live, object, wanted)
		live = wanted
	}
	if err == nil && !overtaken {
		handOn(ctx, live)
	}
	return stale, err
}

func (c *call[T]) attempted(this attempt, read *unstructured.Unstructured) logr.Logger {
	log := c.log.WithValues("attempt", this.number, "of", this.of)
	this.news(log).Info("attempt to change the object", "after", this.waited, "resourceVersion", read.GetResourceVersion())
	return log
}

// send writes wanted, and replaces the content of wanted with the API server's response. stale reports whether the API
// server refused the write because the object had changed after the read.
func (c *call[T]) send(
	ctx context.Context, log logr.Logger, this attempt, live *unstructured.Unstructured, object T, wanted *unstructured.Unstructured,
) (stale bool, err error) {
	_, raw := any(object).(runtime.Unstructured)
	sent := c.ledger.Sending(c.ref.Key(), own) // after an error, the outcome counts as unknown
	put := c.put
	if c.status {
		put = c.putStatus
	}
	if err := put(ctx, wanted, !raw); err != nil {
		return c.writeFailed(ctx, log, live, err)
	}
	sent.Landed(wire.Identity{UID: wanted.GetUID(), ResourceVersion: wanted.GetResourceVersion()}, false, false)
	return false, c.landed(log, this, live, wanted)
}

// read reads the object from the API server as an unstructured object, because a typed read would drop the fields that
// the Go type lacks.
func (c *call[T]) read(ctx context.Context) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(c.ref.GroupVersionKind)
	if err := c.config.LiveReader.Get(ctx, c.ref.NamespacedName, live); err != nil {
		return nil, c.failed(ctx, "reading", err)
	}
	switch uid := live.GetUID(); c.ref.UID {
	case uid:
	case "": // the caller's object has no uid: from now on, the object must have the uid of this read
		c.ref.UID = uid
	default:
		return nil, &apply.UIDMismatchError{Object: c.ref, Err: fmt.Errorf("the live object has uid %s", uid)}
	}
	return live, nil
}

func (c *call[T]) writeFailed(ctx context.Context, log logr.Logger, live *unstructured.Unstructured, err error) (stale bool, _ error) {
	if stale = apply.IsStaleWrite(err); stale {
		c.result.StaleWrites++
		// logr has no level for warnings, so the key "warning" marks the line as a warning.
		log.Info("stale write", "warning", true, "resourceVersion", live.GetResourceVersion(), "error", err.Error())
	}
	return stale, c.failed(ctx, "writing", err)
}

func (c *call[T]) landed(log logr.Logger, this attempt, live, answered *unstructured.Unstructured) error {
	// After the removal of the last finalizer of an object that is being deleted, the object no longer exists, but the
	// response has the old resourceVersion.
	c.result.Changed = answered.GetResourceVersion() != live.GetResourceVersion() ||
		len(answered.GetFinalizers()) < len(live.GetFinalizers())
	answer := emptyLike(c.given)
	if err := decode(answered, answer); err != nil {
		return fmt.Errorf("%v was written, but decoding the API server's response failed: %w", c.ref, err)
	}
	if c.verify != nil {
		if err := c.verify(c.ref, answer); err != nil {
			return err
		}
	}
	c.result.Object = answer
	this.news(log).Info("written", "resourceVersion", answer.GetResourceVersion(), "changed", c.result.Changed)
	return nil
}

// news returns the logger for the messages of an attempt. The first attempt is logged at verbosity 1, and a retry,
// which is rare, at verbosity 0.
func (a attempt) news(log logr.Logger) logr.Logger {
	if a.number == 1 {
		return log.V(1)
	}
	return log
}

// failed uses apply.Classify to convert the error of a request into a typed error. A NotFound is only wrapped, so that
// apierrors.IsNotFound recognises it.
func (c *call[T]) failed(ctx context.Context, doing string, err error) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%s %v: %w", doing, c.ref, err)
	}
	return apply.Classify(ctx, c.ref, err)
}

func copyOf[T client.Object](object T) T { return object.DeepCopyObject().(T) }

// emptyLike returns an empty object of the same Go type and kind. Responses are decoded into such an object, because
// decoding into an object with content would keep map entries and list items that are not in the response.
func emptyLike[T client.Object](object T) T {
	empty := reflect.New(reflect.TypeOf(object).Elem()).Interface().(T)
	empty.GetObjectKind().SetGroupVersionKind(object.GetObjectKind().GroupVersionKind()) // an unstructured object needs its kind
	return empty
}
