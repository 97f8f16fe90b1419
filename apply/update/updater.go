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
	if config.Metrics == nil {
		config.Metrics = apply.NoMetrics{}
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
