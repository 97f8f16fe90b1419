package update

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/ledger"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/apply/lanes"
)

// own is the Writer of all writes in an Updater's ledger. Its fields are empty, because the ledger has no other Writer.
var own = ledger.Writer{}

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
	if u.config.Metrics != nil {
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
	}
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
	c.log = logr.FromContextOrDiscard(ctx).WithValues("verb", c.name, "fieldManager", c.config.FieldManager,
		"kind", c.ref.Kind, "object", c.ref.NamespacedName)
	if settled, err := c.look(); settled {
		if err == nil {
			c.log.V(1).Info("nothing to write", "resourceVersion", c.result.Object.GetResourceVersion())
		}
		return err
	}
	c.result.Attempts, err = repeat(ctx, c.config.Backoff, c.ref, c.enter, c.try)
	if c.absentOK && apierrors.IsNotFound(err) {
		c.log.V(1).Info("the object does not exist, so there is nothing to do", "attempt", c.result.Attempts)
		return nil
	}
	return err
}

// look calls mutate, the caller's function, on a copy of the caller's object. settled reports whether the call can end
// without a request. It is true if mutate changed nothing, and the object is at least as new as the Updater's last
// write to it. It is also true if mutate changed the identity of the object, which is an error. All other results, such
// as an error of mutate, may be due to an outdated cache. The attempts then call mutate again, on the live object.
func (c *call[T]) look() (settled bool, err error) {
	if c.ref.UID == "" || c.ref.ResourceVersion == "" || !c.ledger.Shows(c.ref.Key(), own, c.ref.ResourceVersion) {
		return false, nil // the caller's object has only a name, or is older than the Updater's last write
	}
	object := c.given.DeepCopyObject().(T)
	_, changed, err := c.judge(object)
	if err != nil || changed {
		return errors.Is(err, ErrIdentityChanged), err
	}
	c.result.Object = object
	return true, nil
}

// judge calls mutate, the caller's function, on the object, and reports whether mutate changed the object. before is a
// copy of the object from before the call of mutate. If mutate changed the identity of the object, such as its name or
// uid, the error is ErrIdentityChanged.
func (c *call[T]) judge(object T) (before T, changed bool, err error) {
	managed := object.GetManagedFields()
	object.SetManagedFields(nil)
	before = object.DeepCopyObject().(T)
	err = c.mutate(object)
	object.SetManagedFields(nil)
	if err == nil && identity(object) != identity(before) {
		err = ErrIdentityChanged
	}
	if err != nil {
		return before, false, fmt.Errorf("changing %v: %w", c.ref, err)
	}
	// reflect.DeepEqual is called first, because it is ten times as fast.
	changed = !reflect.DeepEqual(before, object) && !equality.Semantic.DeepEqual(before, object)
	if !changed {
		object.SetManagedFields(managed) // put back the managed fields, because the object becomes Result.Object
	}
	return before, changed, nil
}

// rejudge decodes the live object into the caller's Go type, and calls mutate on the decoded object. wanted is the
// object to write: the live object with the changes that mutate made. It is nil if there is nothing to write.
func (c *call[T]) rejudge(ctx context.Context, live *unstructured.Unstructured) (object T, wanted *unstructured.Unstructured, err error) {
	object = emptyLike(c.given)
	if err := decode(live, object); err != nil {
		return object, nil, fmt.Errorf("reading %v: %w", c.ref, err)
	}
	before, changed, err := c.judge(object)
	if !changed {
		return object, nil, err
	}
	changes := narrowing{schema: func() (*typed.TypedValue, error) { return c.schemaOf(ctx, c.ref.GroupVersionKind) }}
	if wanted, err = changes.narrow(live, before, object); err != nil {
		return object, nil, fmt.Errorf("changing %v: %w", c.ref, err)
	}
	if reflect.DeepEqual(wanted.Object, live.Object) {
		object.SetManagedFields(live.GetManagedFields())
		return object, nil, nil
	}
	wanted.SetManagedFields(nil)
	return object, wanted, nil
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
//
// If the previous call in the lane has passed its object, try first attempts a write that is based on this object. If
// this write is stale or the live object has another uid, the attempt continues with a live read. It also does so if
// mutate changed nothing or failed, because only a write shows whether the passed object is current.
func (c *call[T]) try(ctx context.Context, this attempt) (stale bool, err error) {
	if handed := c.handed(ctx); handed != nil {
		if _, wanted, _ := c.rejudge(ctx, handed); wanted != nil { // wanted is nil after an error
			stale, err = c.send(ctx, c.attempted(this, handed).WithValues("unread", true), this, handed, wanted)
			if !stale && !errors.Is(err, apply.ErrUIDMismatch) {
				return false, err
			}
			this.overtaken = stale
		}
	}
	live, err := c.read(ctx)
	if err != nil {
		return false, err
	}
	log := c.attempted(this, live)
	object, wanted, err := c.rejudge(ctx, live)
	if err != nil {
		return false, err
	}
	if wanted != nil {
		return c.send(ctx, log, this, live, wanted)
	}
	c.result.Object = object
	c.ledger.Read(c.ref.Key(), own, live.GetResourceVersion())
	log.V(1).Info("nothing to write")
	this.handOn(ctx, live)
	return false, nil
}

func (c *call[T]) attempted(this attempt, read *unstructured.Unstructured) logr.Logger {
	log := c.log.WithValues("attempt", this.number, "of", this.of)
	log.V(this.verbosity).Info("attempt to change the object", "after", this.waited, "resourceVersion", read.GetResourceVersion())
	return log
}

// handed returns the object that the previous call in the lane has passed with handOn, or nil. If another process has
// changed the object since, a write that is based on the passed object will be stale.
func (c *call[T]) handed(ctx context.Context) *unstructured.Unstructured {
	shown, _ := lanes.Handed(ctx).(*unstructured.Unstructured)
	if shown == nil || shown.GroupVersionKind() != c.ref.GroupVersionKind || c.ref.UID != "" && c.ref.UID != shown.GetUID() {
		return nil
	}
	return shown
}

// handOn passes an object from a response to the next call, if that call already waits for the object's lane
// (Config.Lanes). The next call then need not read the object. If the object no longer exists, or if another process
// writes to it at the same time, handOn does nothing.
func (a attempt) handOn(ctx context.Context, shown *unstructured.Unstructured) {
	if !a.overtaken && (shown.GetDeletionTimestamp() == nil || len(shown.GetFinalizers()) > 0) {
		lanes.HandOn(ctx, shown)
	}
}

// read reads the object from the API server as an unstructured object, because a typed read would drop the fields that
// the Go type lacks.
func (c *call[T]) read(ctx context.Context) (*unstructured.Unstructured, error) {
	live := wire.Named(c.ref.GroupVersionKind, c.ref.NamespacedName)
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

// send writes the object wanted, and replaces its content with the API server's response. stale reports whether the API
// server refused the write because the object had changed after the read.
func (c *call[T]) send(
	ctx context.Context, log logr.Logger, this attempt, live, wanted *unstructured.Unstructured,
) (stale bool, err error) {
	sent := c.ledger.Sending(c.ref.Key(), own) // after an error, the outcome counts as unknown
	if err := c.put(ctx, wanted); err != nil {
		if stale = apply.IsStaleWrite(err); stale {
			c.result.StaleWrites++
			// logr has no level for warnings, so the key "warning" marks the line as a warning.
			log.Info("stale write", "warning", true, "resourceVersion", live.GetResourceVersion(), "error", err.Error())
		}
		return stale, c.failed(ctx, "writing", err)
	}
	sent.Landed(wire.Identity{UID: wanted.GetUID(), ResourceVersion: wanted.GetResourceVersion()}, false, false)
	// After the removal of the last finalizer of an object that is being deleted, the object no longer exists, but the
	// response has the old resourceVersion.
	c.result.Changed = wanted.GetResourceVersion() != live.GetResourceVersion() ||
		len(wanted.GetFinalizers()) < len(live.GetFinalizers())
	answer := emptyLike(c.given)
	if err := decode(wanted, answer); err != nil {
		return false, fmt.Errorf("%v was written, but decoding the API server's response failed: %w", c.ref, err)
	}
	if c.verify != nil {
		if err := c.verify(c.ref, answer); err != nil {
			return false, err
		}
	}
	c.result.Object = answer
	log.V(this.verbosity).Info("written", append(phases(live, wanted), "resourceVersion", answer.GetResourceVersion(), "changed", c.result.Changed)...)
	this.handOn(ctx, wanted)
	return false, nil
}

// phases returns the phases before and after a write as the values of a log line, if the write has changed the phase.
func phases(before, after *unstructured.Unstructured) (values []any) {
	old, _, _ := unstructured.NestedString(before.Object, "status", "phase")
	phase, _, _ := unstructured.NestedString(after.Object, "status", "phase")
	if old == phase {
		return nil
	}
	return []any{"oldPhase", old, "phase", phase}
}

// put writes an object with a PUT, and replaces its content with the API server's response. If the caller's object has
// a Go type, put disables the client's read-your-writes consistency. The client would otherwise start a second informer
// for the kind, because the object to write is unstructured.
func (c *call[T]) put(ctx context.Context, object *unstructured.Unstructured) error {
	_, raw := any(c.given).(runtime.Unstructured)
	options := client.UpdateOptions{FieldManager: c.config.FieldManager, DisableReadYourWritesConsistency: !raw}
	written := c.ref
	written.UID = object.GetUID()
	if c.status {
		err := c.config.Client.Status().Update(ctx, object, &client.SubResourceUpdateOptions{UpdateOptions: options})
		return apply.CheckNotFound(ctx, c.config.LiveReader, written, "status", err)
	}
	return apply.CheckNotFound(ctx, c.config.LiveReader, written, "", c.config.Client.Update(ctx, object, &options))
}

// failed uses apply.Classify to convert the error of a request into a typed error. A NotFound is only wrapped, so that
// apierrors.IsNotFound recognises it.
func (c *call[T]) failed(ctx context.Context, doing string, err error) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%s %v: %w", doing, c.ref, err)
	}
	return apply.Classify(ctx, c.ref, err)
}

// emptyLike returns an empty object of the same Go type and kind. Responses are decoded into such an object, because
// decoding into an object with content would keep map entries and list items that are not in the response.
func emptyLike[T client.Object](object T) T {
	empty := reflect.New(reflect.TypeOf(object).Elem()).Interface().(T)
	empty.GetObjectKind().SetGroupVersionKind(object.GetObjectKind().GroupVersionKind()) // an unstructured object needs its kind
	return empty
}
