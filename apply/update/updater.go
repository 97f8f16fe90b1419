// Package update is for writes that do not fit Server-Side Apply: finalizers, and a status in which several writers
// change single fields. It writes by get-modify-update, and retries after stale writes.
//
// # Contract of the four functions Do, Status, EnsureFinalizer and RemoveFinalizer
//
// Below, mutate is the function that changes the object. The callers of Do and Status pass it as an argument.
//
//  1. The call never changes the caller's object, which may be the cached object. Result.Object is the object after the
//     call.
//  2. First, mutate is called on a copy of the caller's object. If mutate changes nothing (nil and empty are equal), no
//     request is sent. So the object must be at least as new as the event that led to the call. If the object has no
//     uid or resourceVersion, or is older than the Updater's own last write, the live object is read instead.
//  3. If there is something to write, each attempt reads the live object and calls mutate again. So a write takes one
//     read and one PUT, even if the cache is far behind. If another writer has already made the change, only the read
//     is sent. If several calls of one process wait to write one object, the response to a write replaces the read of
//     the next call.
//  4. The object that mutate gets has no managed fields. An error of mutate on the live object ends the call. An error
//     on the caller's object ends the call only if it is ErrIdentityChanged, because this object may be out of date.
//  5. An attempt occupies the object's lane (Config.Lanes) from its read to its write. A lane admits one writer of the
//     process at a time, so only another process can make the write stale. The lane is free between attempts, and is
//     not used if there is nothing to write.
//  6. A write is narrow: it sends the live object with only the changes by mutate, and every other value exactly as the
//     API server has it. Fields that the Go type lacks, empty structs and zero values keep their values and owners. A
//     quantity such as 1024Mi is not rewritten as 1Gi. A value that the live object did not have is sent with the zero
//     values that the Go type writes.
//  7. A list item that mutate did not change stays the same, even if other items were added, removed or moved. A
//     changed item is merged into the live item with the same keys, as the schema from Config.Schemas defines them. An
//     item with new keys is a new item. If the keys are not known, a changed item is sent as the Go type writes it. If
//     this could drop a field that the Go type lacks, nothing is written, and the error matches ErrUnknownField.
//  8. A write contains the resourceVersion that was read. It contains no managed fields, so that the API server keeps
//     the live managed fields.
//  9. Only a stale write is retried: the object has a new resourceVersion, and the retry reads it again. All other
//     errors end the call, also an ownership conflict, which is an HTTP 409 as well. Errors of the API server are
//     classified by apply.Classify. If a live read confirms that the object does not exist, RemoveFinalizer succeeds,
//     and the other functions return a NotFound (apierrors.IsNotFound). An object that was recreated under the same
//     name is not changed (apply.ErrUIDMismatch).
//  10. If the back-off permits no further attempt, the error is an ExhaustedError. If the context ends between
//     attempts, or while an attempt waits for the lane, the error is an InterruptedError. Both contain the number of
//     attempts and wrap the last error. Return these errors from Reconcile, so that the controller retries later.
//
// # Contract of the caller
//
//  1. mutate must be idempotent, must use the values of its argument and not values that were read earlier, and must
//     keep no state between its calls. For example, mutate must not increment a counter: if the response to a
//     successful write is lost, the next call would increment the counter again.
//  2. mutate must set single fields. If mutate replaced the whole status or spec with an earlier copy, the changes of
//     other writers would be lost, without a 409.
//  3. mutate must not write objects. The call occupies the object's lane, so that a write to the same object would wait
//     until the context ends. Put side effects, such as notifications, after the call, because mutate may be called
//     several times.
//  4. The caller must handle a NotFound, because the object may be deleted at any time.
//  5. Use Do for metadata and spec, and Status for the status. If the kind has a status subresource, the API server
//     silently ignores status changes by Do, and changes of the spec, and of some metadata, by Status.
package update

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/ledger"
	"coapply.dev/apply/lanes"
)

// Config configures an Updater.
type Config struct {
	// Client sends the writes. The Updater does not use it for reads.
	Client client.Client
	// LiveReader reads from the API server, as mgr.GetAPIReader() does. It must not read from a cache, because a write
	// that is based on an outdated object would be stale.
	LiveReader client.Reader
	// FieldManager is the field manager of the writes: 1 to 128 printable characters. Each reconciler needs its own.
	FieldManager string
	// Backoff limits the number of attempts after stale writes, and sets the waits between them. If it is zero, Default
	// is used.
	Backoff wait.Backoff
	// Lanes serialise the writes of a process to one object. Give the same set to all Appliers and Updaters of a
	// process. If Lanes is nil, New makes a set for this Updater alone.
	Lanes *lanes.Set
	// Schemas returns the API server's schemas of a group and version, as apply.SteadyState.Schemas does. The schemas
	// define the key fields of lists (see point 7 of the package comment). If Schemas is nil, no list has known keys.
	Schemas func(context.Context, schema.GroupVersion) (managedfields.TypeConverter, error)
	// Metrics receives an observation of each call. It may be nil.
	Metrics apply.Metrics
}

func (c Config) validate() error {
	var errs []error
	if c.Client == nil {
		errs = append(errs, errors.New("Client: a client is needed"))
	}
	if c.LiveReader == nil {
		errs = append(errs, errors.New("LiveReader: a reader that does not read from a cache is needed, such as mgr.GetAPIReader()"))
	}
	if invalid := validation.ValidateFieldManager(c.FieldManager, field.NewPath("FieldManager")); len(invalid) > 0 {
		errs = append(errs, invalid.ToAggregate())
	} else if c.FieldManager == "" {
		errs = append(errs, errors.New("FieldManager: a name is needed"))
	}
	if b := c.Backoff; b != (wait.Backoff{}) && b.Steps < 1 {
		errs = append(errs, fmt.Errorf("Backoff: Steps is %d, but must be at least 1", b.Steps))
	}
	if b := c.Backoff; b.Duration < 0 || b.Factor < 0 || b.Jitter < 0 || b.Cap < 0 {
		errs = append(errs, errors.New("Backoff: Duration, Factor, Jitter and Cap must not be negative"))
	}
	return errors.Join(errs...)
}

// rememberedObjects is the minimum number of objects for which an Updater remembers its own writes. A cached object that is
// older than the last write may lack the Updater's own changes, so it does not show whether a write is necessary.
const rememberedObjects = 4096

// Updater writes objects by get-modify-update under one field manager. Pass it to the functions Do, Status,
// EnsureFinalizer and RemoveFinalizer. It is safe for concurrent use.
type Updater struct {
	config Config
	ledger *ledger.Ledger // what this Updater knows of objects from its own writes
}

// New returns an Updater, or an error if the Config is invalid.
func New(config Config) (*Updater, error) {
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("update: %w", err)
	}
	if config.Backoff == (wait.Backoff{}) {
		config.Backoff = Default
	}
	if config.Lanes == nil {
		config.Lanes = lanes.New()
	}
	return &Updater{config: config, ledger: ledger.New(rememberedObjects)}, nil
}

// Result is the result of Do, Status, EnsureFinalizer or RemoveFinalizer. It is also returned with an error.
type Result[T client.Object] struct {
	// Object is the object in the API server's response to the write. If nothing was written, it is the live object, or
	// a copy of the caller's object. It is nil after an error, and if the object does not exist.
	Object T
	// Changed reports whether the write changed the object: the object has a new resourceVersion, or fewer finalizers.
	// It is false if nothing was written, or if the API server ignored the change.
	Changed bool
	// Attempts is the number of attempts to read, change and write the object. It is 0 if no attempt was necessary.
	Attempts int
	// StaleWrites is the number of writes that the API server refused because they were stale.
	StaleWrites int
}

func (u *Updater) refer(object client.Object) (apply.ObjectRef, error) {
	if v := reflect.ValueOf(object); v.Kind() != reflect.Pointer || v.IsNil() {
		return apply.ObjectRef{}, errors.New("update: the object must be a pointer that is not nil")
	}
	kind, err := u.config.Client.GroupVersionKindFor(object)
	if err != nil {
		return apply.ObjectRef{}, fmt.Errorf("update: looking up the kind of %T: %w", object, err)
	}
	if object.GetName() == "" {
		return apply.ObjectRef{}, fmt.Errorf("update: the %s has no name", kind.Kind)
	}
	ref := identity(object)
	ref.GroupVersionKind = kind // a typed object may lack its kind
	return ref, nil
}

func identity(object client.Object) apply.ObjectRef {
	return apply.ObjectRef{
		GroupVersionKind: object.GetObjectKind().GroupVersionKind(),
		NamespacedName:   client.ObjectKeyFromObject(object),
		UID:              object.GetUID(),
		ResourceVersion:  object.GetResourceVersion(),
	}
}

// Do changes the metadata and the spec of an object by get-modify-update. Use Do in place of client-go's
// retry.RetryOnConflict. The package comment has the rules for object and mutate.
func Do[T client.Object](ctx context.Context, u *Updater, object T, mutate func(T) error) (Result[T], error) {
	return run(ctx, u, object, verb[T]{name: "Do", mutate: mutate})
}

// Status changes the status of an object by get-modify-update, through the status subresource. The package comment has
// the rules for object and mutate.
func Status[T client.Object](ctx context.Context, u *Updater, object T, mutate func(T) error) (Result[T], error) {
	return run(ctx, u, object, verb[T]{name: "Status", mutate: mutate, status: true})
}

// verb defines one of the functions Do, Status, EnsureFinalizer and RemoveFinalizer.
type verb[T client.Object] struct {
	name     string
	invalid  error // the error for an invalid argument, which prevents the first attempt; or nil
	mutate   func(T) error
	status   bool                           // write through the status subresource
	verify   func(apply.ObjectRef, T) error // checks the object in the response to the write; may be nil
	absentOK bool                           // the call succeeds if the object does not exist
}
