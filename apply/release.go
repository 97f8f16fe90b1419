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

// Release gives up every field of an object that this field manager owns by
// Apply, of the object itself and of its subresources (KEP-555: an apply of the
// name only). What others own as well stays with them. What we alone own goes
// from the object, and the server's default, if it has one, takes its place; the
// value that stood there before us does not return. Only a replica count that was
// applied through /scale keeps its value: an apply of the name only would set it
// to 0, so the entry alone is taken away there.
//
// The Outcome is Configured when something was given up, Unchanged when there was
// nothing of ours, and Absent when there is no object. An object that was deleted is
// not brought back; with a uid in the reference one that was recreated is left
// alone (UIDMismatchError). The Outcome is one observation of metrics, as that of
// an Apply is.
//
// An object that cannot be without our fields, such as a Deployment without its
// template, is refused (RefusedError), and what was not given up until then stays
// ours: package ownership hands fields over. Fields that we own by Update stay ours
// as well: ownership.Migrate takes them first. After the last entry of an object is released nobody
// is recorded as owner: the server stops recording Updates then, and counts what
// the object holds at the next apply as owned by "before-first-apply".
//
// Errors are those of Apply but the ones about conflicts. What fails for the moment
// is not tried again here. Repeating a Release is safe.
//
// With subresources it gives up what was applied through these, and no more; "" is the
// object itself.
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
	if object.UID != "" {
		named.SetUID(object.UID)
	}
	encoded, err := encode(Intent{Config: client.ApplyConfigurationFromUnstructured(named), MustExist: true})
	if err != nil {
		return nil, err
	}
	c.about(encoded)
	c.ref = object
	released := Unchanged
	exhausted, err := wire.Tries(ctx, IsStaleWrite, func() error {
		return c.inLane(ctx, func(ctx context.Context) error {
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

// releaseEach reads the object and gives up our entries one by one, the object
// itself last: until then a failure leaves it as it is. A stale write is returned
// for another try.
func (c *call) releaseEach(ctx context.Context, of []string) (gaveUp bool, err error) {
	live, err := c.readLive(ctx)
	if err == nil {
		err = c.pinTo(live)
	}
	if err != nil {
		return false, c.classify(ctx, err)
	}
	c.ref.UID, c.ref.ResourceVersion = live.GetUID(), live.GetResourceVersion()
	ownership, err := c.readable(live.GetManagedFields())
	if err != nil {
		return false, &RefusedError{Object: c.ref, Err: fmt.Errorf("its managed fields: %w", err)}
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
		gaveUp = gaveUp || action != Unchanged // else someone was faster
	}
	return gaveUp, nil
}

func (c *call) releaseEntry(ctx context.Context, live *unstructured.Unstructured) (Action, error) {
	if c.intent.Subresource == scale {
		return Configured, c.dropEntry(ctx, live)
	}
	landed, err := c.send(ctx, request{form: c.intent, pin: pin{uid: live.GetUID()}})
	if err == nil {
		return landed.action, nil
	}
	err = c.explain(ctx, err)
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return "", &RefusedError{Object: refused.Object, Err: c.whyNotReleased(refused.Err)}
	}
	return "", err
}

// whyNotReleased says that it was the release that was refused, which nobody can
// tell from an answer such as "spec.template: Required value".
func (c *call) whyNotReleased(refused error) error {
	if apierrors.IsInvalid(refused) {
		return fmt.Errorf("it cannot be without what a release of %s takes away; hand these fields over, by Migrate or Rename of another applier: %w",
			c.config.FieldManager, refused)
	}
	return fmt.Errorf("releasing the fields of %s: %w", c.config.FieldManager, refused)
}

// scale is the subresource whose kind has a required replica count.
const scale = "scale"

// ourSubresources lists where we applied: scale first, which has to be written at
// the version that was read, and the object itself last.
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

// dropEntry takes our entry of the subresource out of the managed fields, at the
// version of the object that was read, and leaves the values.
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
	c.log.V(1).Info("took an entry out of the managed fields", "subresource", c.intent.Subresource, "pinnedTo", live.GetResourceVersion(), "error", err)
	if err == nil {
		c.ref.ResourceVersion = answer.GetResourceVersion()
		return nil
	}
	return c.classify(ctx, err)
}
