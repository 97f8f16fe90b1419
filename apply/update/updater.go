// Package update is the fallback for writes that do not fit Server-Side Apply: finalizers, and a
// status that several writers change field by field. It uses get-modify-update with retries after
// stale writes.
//
// Only a stale write is retried: the resourceVersion has changed, and a new read solves that. An
// ownership conflict, which is also HTTP 409, is not retried: another field manager owns the field.
//
// # Contract of the four verbs: Do, Status, EnsureFinalizer, RemoveFinalizer
//
//  1. The object passed in may be the cached object: the call never changes it. Result.Object is
//     the object after the call.
//  2. First, mutate is called on a copy of the object passed in. If it changes nothing (nil and
//     empty are equal), no request is sent. So the object must be at least as new as the event
//     that caused the call. The object is read live if it lacks a uid or resourceVersion, or is
//     older than the updater's own last write.
//  3. If there is something to write, each attempt reads the live object and calls mutate again. So
//     a write costs one read and one PUT, however far the cache lags. If another writer has made
//     the change meanwhile, there is only the read. If calls in one process wait for each other,
//     the response to one call's write replaces the next call's read.
//  4. mutate sees no managed fields. An error of mutate on the live object ends the call. On the
//     object passed in, which may be outdated, only ErrIdentityChanged ends the call.
//  5. An attempt holds the object's lane (Config.Lanes, one writer of the process at a time) from
//     its read to its write. So only other processes can make the write stale. A call that waits
//     between attempts, or has nothing to write, holds no lane.
//  6. A write is narrow: it sends the object as the API server has it, byte for byte, with only
//     the changes by mutate. Fields that the Go type lacks, empty structs and zero values keep
//     their values and their owners. So does a quantity such as 1024Mi, which the Go type would
//     write as 1Gi. A value that the API server did not have is sent whole, with the zero values
//     that the Go type writes. A list item that mutate did not change stays the same, even if
//     other items were added, removed or moved. A changed item is matched with the live item that
//     has the same keys, by the API server's schema (Config.Schemas). If no live item has these
//     keys, the item is new, and inherits no fields. If the list has no keys, or the schema is
//     not known, a changed item is sent as the Go type writes it. If such a write could drop a
//     field that the Go type lacks, nothing is written, and the error matches ErrUnknownField.
//  7. A write has the resourceVersion that was read, and no managed fields, so the API server keeps
//     the live managed fields. An incomplete list of managed fields, as from a cache that strips
//     them, would erase the entries of other managers.
//  8. Only a stale write is retried. All other errors end the call. Errors of the API server are
//     returned as by apply.Classify. If a live read confirms that the object does not exist,
//     NotFound is returned (apierrors.IsNotFound), but RemoveFinalizer succeeds. An object that
//     was recreated under the same name is not changed (apply.ErrUIDMismatch).
//  9. The error is an ExhaustedError if the backoff allows no further attempt. It is an
//     InterruptedError if the context ends between attempts or while an attempt waits for the
//     lane. Both have the number of attempts and wrap the last error. Return them from Reconcile,
//     so that the controller retries later.
//
// # Contract of the caller
//
//  1. mutate is idempotent, uses the values of its argument and not values read earlier, and keeps
//     no state between its calls. If the response to a write is lost, the object may be changed
//     nevertheless: a counter that mutate increments would then be incremented twice.
//  2. mutate sets single fields. If it replaced the whole status or spec with an earlier copy, the
//     changes of other writers would be lost, without a 409.
//  3. mutate writes no objects. A write to the same object would wait for the lane, which the call
//     itself holds, until the context ends. Side effects, such as notifications, come after the
//     call, because mutate may run several times.
//  4. The caller handles NotFound: the object may be deleted at any time.
//  5. Do is for metadata and spec, Status for the status. If the kind has a status subresource, the
//     API server silently ignores other changes.
//
// Valid:
//
//	result, err := update.Status(ctx, updater, box, func(box *v1alpha1.Devbox) error {
//		box.Status.Phase = phase // the fields this reconciler knows, no others
//		return nil
//	})
//
// Invalid: mutate writes a status that was read long before the attempt. The write succeeds, and
// changes that other reconcilers made in between are lost:
//
//	mine := box.Status
//	mine.Phase = phase
//	result, err := update.Status(ctx, updater, box, func(latest *v1alpha1.Devbox) error {
//		latest.Status = mine
//		return nil
//	})
package update

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/internal/recent"
)

// Config configures an Updater.
type Config struct {
	// Client sends the writes. The Updater does not read with Client.
	Client client.Client
	// LiveReader reads from the API server, as mgr.GetAPIReader() does: writes based on an outdated
	// cache would be stale. An attempt that can use the response to another call's write reads nothing.
	LiveReader client.Reader
	// FieldManager is the field manager of the writes: 1 to 128 printable characters. Use a different
	// name for each reconciler.
	FieldManager string
	// Backoff limits the number of attempts after stale writes, and sets the waits between them.
	// The zero value means Default.
	Backoff wait.Backoff
	// Lanes are the process's lanes, one for each object. Pass the same set to all updaters and appliers,
	// so that their writes do not make each other stale. nil means a set that only this Updater uses.
	Lanes *lanes.Set
	// Schemas returns the API server's schemas of a group and version, as SteadyState.Schemas of package
	// apply does. A schema defines the key fields of lists. The key fields are needed if mutate changed a
	// list item that has fields which the Go type lacks or writes differently. If Schemas is nil, such an
	// item is sent as the Go type writes it. If this could drop a field, the error matches ErrUnknownField.
	Schemas func(context.Context, schema.GroupVersion) (managedfields.TypeConverter, error)
	// Metrics records each call. It may be nil.
	Metrics apply.Metrics
}

func (c Config) validate() error {
	var errs []error
	if c.Client == nil {
		errs = append(errs, errors.New("Client: a client is needed"))
	}
	if c.LiveReader == nil {
		errs = append(errs, errors.New("LiveReader: a reader past the cache is needed, such as mgr.GetAPIReader()"))
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

// Updater writes objects by get-modify-update under one field manager. Its verbs are the functions
// Do, Status, EnsureFinalizer and RemoveFinalizer. It is safe for concurrent use.
type Updater struct {
	config  Config
	written lastWritten
}

// New returns an Updater, or an error if the Config is not valid.
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
	return &Updater{config: config, written: lastWritten{versions: recent.New[types.UID, string](writtenKept)}}, nil
}

// Result is the result of Do, Status, EnsureFinalizer or RemoveFinalizer. It is returned with an error, too.
type Result[T client.Object] struct {
	// Object is the object in the API server's response to the write. If nothing was written, it
	// is the object that was read live or passed in. Object is nil after an error, and if the object
	// does not exist.
	Object T
	// Changed reports whether the write changed the object: it has a new resourceVersion, or
	// fewer finalizers. Changed is false if nothing was written or the API server ignored the write.
	Changed bool
	// Attempts is the number of attempts to read, change and write the object, or 0 if no attempt was needed.
	Attempts int
	// StaleWrites is the number of writes that the API server rejected because they were stale.
	StaleWrites int
}

// refer returns the reference to the object that was passed to a call.
func (u *Updater) refer(object client.Object) (apply.ObjectRef, error) {
	if v := reflect.ValueOf(object); v.Kind() != reflect.Pointer || v.IsNil() {
		return apply.ObjectRef{}, errors.New("update: the object must be a non-nil pointer")
	}
	kind, err := u.config.Client.GroupVersionKindFor(object)
	if err != nil {
		return apply.ObjectRef{}, fmt.Errorf("update: looking up the kind of %T: %w", object, err)
	}
	if object.GetName() == "" {
		return apply.ObjectRef{}, fmt.Errorf("update: the %s has no name", kind.Kind)
	}
	return apply.ObjectRef{
		GroupVersionKind: kind,
		NamespacedName:   client.ObjectKeyFromObject(object),
		UID:              object.GetUID(),
		ResourceVersion:  object.GetResourceVersion(),
	}, nil
}
