// Package update is the fallback for writes that do not fit Server-Side Apply: finalizers, and a
// status that several writers change field by field. It uses get-modify-update with retries after
// stale writes.
//
// Only a stale write is retried: the resourceVersion has changed, and a new read solves that. An
// ownership conflict, which is also HTTP 409, is not retried: another field manager owns the field.
//
// # Contract of the four verbs
//
//  1. The object passed in may be the cache's own and is never written to. The object after the
//     call is in the Result.
//  2. If mutate changes nothing of a copy of the object passed in (nil and empty are the same),
//     no request is sent and no attempt is made. So the object must be at least as new as the
//     event that led to the call. An object without uid or resourceVersion only names the object,
//     and an object from before the updater's own last write is too old: both are read live.
//  3. If there is something to write, every attempt reads live and calls mutate again. So a write
//     costs a read and a PUT, however far the cache lags, and only the read if somebody else has
//     made the change meanwhile. If calls in one process wait for each other, the answer to the
//     write of one is the read of the next.
//  4. mutate sees no managed fields. Its error on the object read live ends the call. An earlier
//     error decides nothing, as the object may be old; only ErrIdentityChanged ends the call.
//  5. An attempt is inside the object's lane (Config.Lanes) from the read to the write, so only
//     another process can make the write stale. A call that backs off, or has nothing to write,
//     is in no lane.
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
//  7. A write carries the resourceVersion that was read, and no managed fields: the API server
//     keeps the live ones. A partial list, such as that of a stripped cache, would erase the
//     entries of others.
//  8. Only a stale write is retried. Every other error ends the call. Errors of the API server
//     are returned as by apply.Classify. NotFound is returned unchanged (apierrors.IsNotFound) if
//     a live read confirms that the object does not exist; for RemoveFinalizer that is a success.
//     An object recreated under the same name is not touched: apply.ErrUIDMismatch.
//  9. The error is an ExhaustedError when the backoff allows no further attempt, and an
//     InterruptedError when the context ends between attempts or while one waits for the lane.
//     Both have the number of attempts and wrap the last error. Return them from Reconcile,
//     which then runs again later.
//
// # Contract of the caller
//
//  1. mutate is idempotent, reads from the object that it is given and not from what was captured
//     before, and keeps nothing from one of its calls for the next. After a lost answer the write
//     may have landed, and a repeated call increments twice.
//  2. mutate sets single fields. One that replaces the whole status or spec with what was known
//     before loses what others wrote, without any 409.
//  3. mutate sends no writes: one to its own object would wait for the lane that it is in, until
//     its context ends. Side effects (notifications, requests to others) come after the call,
//     where they happen once.
//  4. NotFound is handled: the object may be deleted at any time.
//  5. Do is for metadata and spec, Status for the status. The API server drops the rest silently
//     when the kind has a status subresource.
//
// Valid:
//
//	result, err := update.Status(ctx, updater, box, func(box *v1alpha1.Devbox) error {
//		box.Status.Phase = phase // the fields this reconciler knows, no others
//		return nil
//	})
//
// Invalid: it writes a status read long before the attempt. Whatever other
// reconcilers wrote in between is lost, and the write succeeds:
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
	// Client sends the writes. Nothing is read through it.
	Client client.Client
	// LiveReader reads past the cache, in every attempt to which no other call has handed on
	// its answer: mgr.GetAPIReader(). A write based on an old cache would be stale each time.
	LiveReader client.Reader
	// FieldManager is recorded as the owner of what is written: 1 to 128 printable characters,
	// one name per reconciler.
	FieldManager string
	// Backoff bounds how often and how fast stale writes are retried. The zero value means
	// Default.
	Backoff wait.Backoff
	// Lanes are the lanes of the process: give the same set to all updaters and appliers, so
	// that they never make each other's writes stale. nil makes a set for this Updater alone.
	Lanes *lanes.Set
	// Schemas returns the API server's schemas of a group and version, as SteadyState.Schemas of
	// package apply does. The schema has the keys of lists. An update needs these keys if mutate
	// changed a list item whose live form the Go type does not show completely. Without the
	// schema, the item is sent as mutate left it, or the write is rejected with ErrUnknownField.
	// If Schemas is nil, no schema is known.
	Schemas func(context.Context, schema.GroupVersion) (managedfields.TypeConverter, error)
	// Metrics may be nil.
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
		errs = append(errs, fmt.Errorf("Backoff: %d steps allow no attempt", b.Steps))
	}
	if b := c.Backoff; b.Duration < 0 || b.Factor < 0 || b.Jitter < 0 || b.Cap < 0 {
		errs = append(errs, errors.New("Backoff: nothing of it may be negative"))
	}
	return errors.Join(errs...)
}

// Updater writes objects by get-modify-update under one field manager: see Do,
// Status, EnsureFinalizer and RemoveFinalizer. It is safe for concurrent use.
type Updater struct {
	config  Config
	written lastWritten
}

// New returns an Updater.
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

// Result reports one call, also with an error.
type Result[T client.Object] struct {
	// Object is the object as the server answered the write or, if nothing was to be written,
	// as it was read live or passed in. It is nil after an error and if the object is absent.
	Object T
	// Changed reports whether the object got a new resourceVersion, or lost the last finalizer
	// that kept it. It is false if there was nothing to write, or if the server dropped all
	// that was written.
	Changed bool
	// Attempts counts the turns in the object's lane, each with a read and the write that
	// followed it; 0 if the object passed in needed no write.
	Attempts int
	// StaleWrites counts the stale writes.
	StaleWrites int
}

// refer returns the reference of a call's object.
func (u *Updater) refer(object client.Object) (apply.ObjectRef, error) {
	if v := reflect.ValueOf(object); v.Kind() != reflect.Pointer || v.IsNil() {
		return apply.ObjectRef{}, errors.New("update: an object is needed")
	}
	kind, err := u.config.Client.GroupVersionKindFor(object)
	if err != nil {
		return apply.ObjectRef{}, fmt.Errorf("update: the kind of %T: %w", object, err)
	}
	if object.GetName() == "" {
		return apply.ObjectRef{}, fmt.Errorf("update: a name is needed to write a %s", kind.Kind)
	}
	return apply.ObjectRef{
		GroupVersionKind: kind,
		NamespacedName:   client.ObjectKeyFromObject(object),
		UID:              object.GetUID(),
		ResourceVersion:  object.GetResourceVersion(),
	}, nil
}
