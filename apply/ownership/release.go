package ownership

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// Release gives up every field of an object that the Applier's field manager owns by Apply, through the object itself or
// through a subresource. It applies intents that contain only the object's name (KEP-555). A field with other owners
// keeps its value. A field without another owner is removed, or gets the API server's default. The value from before the
// manager's first apply does not return. A replica count that was applied through /scale is an exception: an apply
// without a count would set the count to 0. For such a count, Release removes only the managed fields entry, and the
// count keeps its value.
//
// The Outcome is Configured if a field was given up, Unchanged if the manager owned no field, and Absent if the object
// does not exist. A deleted object is not recreated. If the reference has a uid and the object was recreated, the new
// object is not changed, and the error is a UIDMismatchError. Metrics count each apply of a Release.
//
// If the object would be invalid without the fields, such as a Deployment without its template, the error is a
// RefusedError. The manager still owns the fields that were not given up before the error. Use Rename with the Applier of
// another manager to move them. Fields that the manager owns by Update are not given up. Call Migrate before Release for
// such fields.
//
// If Release removes the last managed fields entry of an object, the API server no longer tracks the owners of its
// fields, and does not record later Updates. The next apply records "before-first-apply" as the owner of all fields
// that the object already has.
//
// The errors are an *apply.IntentError, *apply.ContendedError, *apply.UIDMismatchError, *apply.RetryableError,
// *apply.RefusedError, *lanes.ReentryError or the error of the context. Repeating a Release is safe.
//
// If subresources are given, Release gives up only the fields that were applied through these subresources. An empty
// string stands for the object itself.
func Release(ctx context.Context, applier *apply.Applier, object apply.ObjectRef, subresources ...string) (apply.Outcome, error) {
	r := release{applier: applier, only: subresources, outcome: apply.Outcome{Action: apply.Unchanged, Object: object}}
	switch err := r.run(ctx); {
	case errors.Is(err, errAbsent):
		r.outcome.Action = apply.Absent
	case err != nil:
		r.outcome.Action = ""
		return r.outcome, err
	}
	return r.outcome, nil
}

// release is the state of one Release.
type release struct {
	applier *apply.Applier
	only    []string // the subresources whose fields are given up; all if empty
	live    *unstructured.Unstructured
	outcome apply.Outcome
}

// scale is the name of the subresource scale. An apply through this subresource cannot give up the replica count: an
// apply without a count sets the count to 0.
const scale = "scale"

// run gives up the managed fields entries, one after the other. The entry of scale comes first, because it must be
// removed at the resourceVersion that was read. The entry of the object itself comes last, so that after an error in an
// earlier step the manager still owns the object's fields.
func (r *release) run(ctx context.Context) error {
	object := r.outcome.Object
	if err := wire.CheckReference(r.applier.Client(), object.GroupVersionKind, object.NamespacedName); err != nil {
		return &apply.IntentError{Object: object, Err: err}
	}
	recording, exchange := wire.WithExchange(ctx)
	var owned []string
	exhausted, err := wire.Tries(recording, apply.IsStaleWrite, func() (err error) {
		inside, leave, err := r.applier.Config().Lanes.Enter(recording, object.Key())
		defer leave()
		if err == nil {
			owned, err = r.read(inside, exchange)
		}
		if err == nil && slices.Contains(owned, scale) {
			err = r.dropScale(inside, exchange)
		}
		return err
	})
	r.outcome.Requests = exchange.Requests()
	if exhausted {
		return &apply.ContendedError{Object: r.outcome.Object, Attempts: r.outcome.Attempts, Err: err}
	}
	for _, subresource := range owned {
		if err == nil && subresource != scale {
			err = r.apply(ctx, subresource)
		}
	}
	return err
}

// read reads the object. It returns the subresources through which the manager has applied, as far as they are to be
// released. The object itself, "", comes last.
func (r *release) read(ctx context.Context, exchange *wire.Exchange) (owned []string, err error) {
	exchange.Calling()
	r.live, err = readLive(ctx, r.applier, r.outcome.Object)
	exchange.Called(err)
	switch {
	case wire.IsAbsent(err, r.outcome.Object.Name):
		return nil, errAbsent
	case err != nil:
		return nil, err
	}
	r.outcome.Object.UID, r.outcome.Object.ResourceVersion = r.live.GetUID(), r.live.GetResourceVersion()
	ownership, unread := fieldowners.ParseReadable(r.live.GetManagedFields())
	for _, entry := range unread {
		if entry.Manager == r.applier.FieldManager() {
			return nil, &apply.RefusedError{Object: r.outcome.Object, Err: fmt.Errorf("reading the managed fields of the object: %w", entry)}
		}
	}
	for _, entry := range ownership.Entries() { // sorted by subresource
		if r.isOwn(entry.Name, entry.Operation) && (len(r.only) == 0 || slices.Contains(r.only, entry.Subresource)) {
			owned = append(owned, entry.Subresource)
		}
	}
	owned = slices.Compact(owned) // entries may differ only in their apiVersion
	if len(owned) > 0 && owned[0] == "" {
		owned = append(owned[1:], "")
	}
	return owned, nil
}

func (r *release) isOwn(manager string, operation metav1.ManagedFieldsOperationType) bool {
	return manager == r.applier.FieldManager() && operation == metav1.ManagedFieldsOperationApply
}

// dropScale removes the manager's managed fields entry for scale, pinned to the uid and resourceVersion that were read.
func (r *release) dropScale(ctx context.Context, exchange *wire.Exchange) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	kept := slices.DeleteFunc(r.live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return r.isOwn(e.Manager, e.Operation) && e.Subresource == scale
	})
	writing := r.outcome.Object
	writing.ResourceVersion = "" // the resourceVersion after the write is not known yet
	r.applier.Config().Steady.Wrote(writing)
	r.outcome.Attempts++
	exchange.Calling()
	response, err := (&rewrite{live: r.live}).send(ctx, r.applier.Client(), kept, client.FieldOwner(r.applier.FieldManager()))
	exchange.Called(err)
	logr.FromContextOrDiscard(ctx).V(1).Info("sent a patch that removes this field manager's managed fields entry",
		"object", r.outcome.Object.String(), "subresource", scale, "pinnedTo", r.live.GetResourceVersion(), "error", err)
	if err != nil {
		return classify(ctx, r.applier, r.outcome.Object, err)
	}
	r.live, r.outcome.Action = response, apply.Configured
	r.outcome.Object.ResourceVersion = response.GetResourceVersion()
	return nil
}

// apply gives up the fields that the manager applied through a subresource, by an intent without fields.
func (r *release) apply(ctx context.Context, subresource string) error {
	named := client.ApplyConfigurationFromUnstructured(wire.Named(r.outcome.Object.GroupVersionKind, r.outcome.Object.NamespacedName))
	intent := apply.Intent{Config: named, MustExist: true, UID: r.live.GetUID(), Read: r.live, Subresource: subresource}
	if subresource != "" {
		intent.Body = named // without a Body, an intent for the status must set a status
	}
	outcome, err := r.applier.Apply(ctx, intent)
	r.outcome.Requests += outcome.Requests
	r.outcome.Attempts += outcome.Attempts
	refused, _ := errors.AsType[*apply.RefusedError](err)
	switch {
	case refused != nil && apierrors.IsInvalid(err):
		return &apply.RefusedError{Object: refused.Object, Err: fmt.Errorf("the object would be invalid without the fields that field manager %s would give up; move these fields to another field manager first, with Migrate or Rename of package ownership: %w",
			r.applier.FieldManager(), refused.Err)}
	case refused != nil:
		return &apply.RefusedError{Object: refused.Object, Err: fmt.Errorf("giving up the fields of field manager %s: %w", r.applier.FieldManager(), refused.Err)}
	case err != nil:
		return err
	case outcome.Action == apply.Absent:
		return errAbsent
	case outcome.Action != apply.Unchanged: // Unchanged means that another writer had already removed the entry
		r.outcome.Action = apply.Configured
	}
	r.outcome.Object = outcome.Object
	return nil
}
