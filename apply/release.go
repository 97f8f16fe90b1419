package apply

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// Release gives up every field of an object that this field manager owns by Apply, through the object itself or through
// a subresource. It sends an apply that contains only the object's name (KEP-555). A field with other owners keeps its
// value. A field without another owner is removed, or gets the API server's default. The value from before this
// manager's first apply does not return. A replica count that was applied through /scale is an exception: an apply
// without a count would set the count to 0. For such a count, Release removes only this manager's managed fields entry,
// and the count keeps its value.
//
// The Outcome is Configured if a field was given up, Unchanged if this manager owned no field, and Absent if the object
// does not exist. A deleted object is not recreated. If the reference has a uid and the object was recreated, the new
// object is not changed, and the error is a UIDMismatchError. Metrics count a Release as an Apply.
//
// If the object would be invalid without the fields, such as a Deployment without its template, the error is a
// RefusedError. This manager still owns the fields that were not given up before the error. Use package ownership to
// move them to another manager. Fields that this manager owns by Update are not given up. Call ownership.Migrate before
// Release for such fields.
//
// If Release removes the last managed fields entry of an object, the API server no longer tracks the owners of its
// fields, and does not record later Updates. The next apply records "before-first-apply" as the owner of all fields
// that the object already has.
//
// The errors are an *IntentError, *ContendedError, *UIDMismatchError, *RetryableError, *RefusedError,
// *lanes.ReentryError or the error of the context. Release does not retry transient errors. Repeating a Release is
// safe.
//
// If subresources are given, Release gives up only the fields that were applied through these subresources. An empty
// string stands for the object itself.
func (a *Applier) Release(ctx context.Context, object ObjectRef, subresources ...string) (Outcome, error) {
	ctx, call := a.begin(ctx)
	released, err := call.release(ctx, object, subresources)
	return call.end(released, err)
}

func (c *call) release(ctx context.Context, object ObjectRef, of []string) (*answer, error) {
	c.ref = object
	if err := wire.CheckReference(c.client, object.GroupVersionKind, object.NamespacedName); err != nil {
		return nil, &IntentError{Object: object, Err: err}
	}
	named := wire.Named(object.GroupVersionKind, object.NamespacedName)
	named.SetUID(object.UID)
	encoded, err := encode(Intent{Config: client.ApplyConfigurationFromUnstructured(named), MustExist: true})
	if err != nil {
		return nil, err
	}
	c.about(encoded)
	c.ref = object
	released := Unchanged
	exhausted, err := wire.Tries(ctx, IsStaleWrite, func() error {
		return c.inside(ctx, c.enter, func(ctx context.Context) error {
			gaveUp, err := c.releaseEach(ctx, of)
			if gaveUp {
				released = Configured
			}
			return err
		})
	})
	switch {
	case exhausted:
		return nil, &ContendedError{Object: c.ref, Attempts: c.outcome.Attempts, Err: err}
	case err != nil:
		return c.absentOr(err)
	}
	return nothingSent(released), nil
}

// releaseEach reads the object and gives up the managed fields entries of this field manager, one after the other. The
// entry of the object itself comes last, so that after an error in an earlier step this manager still owns the object's
// fields. After a stale write the caller calls releaseEach again.
func (c *call) releaseEach(ctx context.Context, of []string) (gaveUp bool, err error) {
	live, err := c.readLive(ctx)
	if err == nil {
		err = c.aimAt(live, true)
	}
	if err != nil {
		return false, c.classify(ctx, err)
	}
	c.ref.UID, c.ref.ResourceVersion = live.GetUID(), live.GetResourceVersion()
	ownership, err := c.readable(live.GetManagedFields())
	if err != nil {
		return false, &RefusedError{Object: c.ref, Err: fmt.Errorf("reading the managed fields of the object: %w", err)}
	}
	whole := c.intent
	defer func() { c.intent = whole }()
	for _, subresource := range c.ourSubresources(ownership) {
		if len(of) > 0 && !slices.Contains(of, subresource) {
			continue
		}
		c.intent = whole.through(subresource)
		action, err := c.releaseEntry(ctx, live)
		if err != nil {
			return gaveUp, err
		}
		gaveUp = gaveUp || action != Unchanged // Unchanged means that another writer had already removed the entry
	}
	return gaveUp, nil
}

func (c *call) releaseEntry(ctx context.Context, live *unstructured.Unstructured) (Action, error) {
	if c.intent.Subresource == scale {
		return Configured, c.dropEntry(ctx, live)
	}
	landed, err := c.send(ctx, request{form: c.intent, pin: wire.Identity{UID: live.GetUID()}})
	if err == nil {
		return landed.action, nil
	}
	err = c.explain(ctx, err)
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return "", &RefusedError{Object: refused.Object, Err: c.whyNotReleased(refused.Err)}
	}
	return "", err
}

// whyNotReleased wraps the API server's error for a release, such as "spec.template: Required value", into an error
// that says which field manager could not give up its fields, and what to do next.
func (c *call) whyNotReleased(refused error) error {
	if apierrors.IsInvalid(refused) {
		return fmt.Errorf("the object would be invalid without the fields that field manager %s would give up; move these fields to another field manager first, with Migrate or Rename of package ownership: %w",
			c.config.FieldManager, refused)
	}
	return fmt.Errorf("giving up the fields of field manager %s: %w", c.config.FieldManager, refused)
}

// scale is the name of the subresource scale. An apply through this subresource cannot give up the replica count: an
// apply without a count sets the count to 0.
const scale = "scale"

// ourSubresources returns the subresources through which this field manager has applied, in the order of their release.
// The subresource scale comes first, because its entry must be removed at the resourceVersion that was read. An empty
// string stands for the object itself, and comes last.
func (c *call) ourSubresources(ownership fieldowners.Ownership) []string {
	var found []string
	for _, entry := range ownership.Entries() {
		ours := entry.Name == c.config.FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply
		if ours && !slices.Contains(found, entry.Subresource) {
			found = append(found, entry.Subresource)
		}
	}
	slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(turn(a), turn(b)) })
	return found
}

func turn(subresource string) int {
	switch subresource {
	case scale:
		return 0
	case "":
		return 2
	}
	return 1
}

// dropEntry removes this field manager's managed fields entry for the call's subresource from live, the object that was
// read. The write is pinned to the uid and resourceVersion of live. The values of the fields do not change.
func (c *call) dropEntry(ctx context.Context, live *unstructured.Unstructured) error {
	kept := slices.DeleteFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == c.config.FieldManager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == c.intent.Subresource
	})
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(), "managedFields": kept,
	}})
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	answer := c.newLive()
	c.outcome.Attempts++
	c.exchange.Calling()
	err = c.client.Patch(ctx, answer, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(c.config.FieldManager))
	c.exchange.Called(err)
	err = c.checkNotFound(ctx, "", err)
	c.log.V(1).Info("sent a patch that removes this field manager's managed fields entry", "subresource", c.intent.Subresource, "pinnedTo", live.GetResourceVersion(), "error", err)
	if err == nil {
		c.ref.ResourceVersion = answer.GetResourceVersion()
		return nil
	}
	return c.classify(ctx, err)
}
