package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// takeBack moves the fields that are the manager's by its contract from the owner that the
// server makes up after managed fields were wiped. No value changes. The apply that follows
// gives up what the intent does not list.
//
// The move is made inside the object's lane, as other managers of this process take their
// fields back at the same moment. If another process overtakes it, the object is read again.
//
// mended reports whether no field is lost any more: the lost fields are ours again, or somebody
// else, such as another process of ours, has moved them, or the object is gone.
func (c *call) takeBack(ctx context.Context) (mended bool, err error) {
	exhausted, err := wire.Tries(ctx, IsStaleWrite, func() error {
		return c.inLane(ctx, func(ctx context.Context) (err error) {
			mended, err = c.takeBackOnce(ctx)
			return err
		})
	})
	if exhausted {
		return false, &ContendedError{Object: c.ref, Attempts: c.outcome.Attempts, Err: err}
	}
	return mended, err
}

// takeBackOnce is one try of takeBack. The caller tries again after a stale write.
func (c *call) takeBackOnce(ctx context.Context) (mended bool, _ error) {
	live, err := c.readOwn(ctx)
	switch {
	case errors.Is(err, errAbsent):
		return true, nil // the apply that follows reports it
	case live == nil:
		return false, err
	}
	if len(live.GetManagedFields()) == 0 {
		if live, err = c.showMadeUp(ctx, live); err != nil {
			return false, c.notTakenBack(err)
		}
	}
	lost := c.lost(live)
	if len(lost) == 0 {
		return true, nil
	}
	taken, err := c.move(ctx, lost, live)
	switch {
	case err != nil:
		return false, c.notTakenBack(err)
	case c.dryRun:
		c.ref = c.ref.as(live)
		c.outcome.TakenBack, c.outcome.Conflicts = taken, nil
		return true, nil
	}
	c.forget() // a form without what is ours now would have the server remove it
	c.outcome.TakenBack, c.outcome.Action, c.target.read = taken, Configured, nil
	c.log.Info("took fields back: managed fields had been wiped", "from", fieldowners.BeforeFirstApply, "fields", len(taken))
	return true, nil
}

// notTakenBack returns the error of taking back; nil for a refusal, such as by an admission
// policy that forbids writing managed fields: the apply that follows reports the conflict.
func (c *call) notTakenBack(err error) error {
	if errors.Is(err, ErrRefused) {
		c.log.Info("fields cannot be taken back", "from", fieldowners.BeforeFirstApply, "error", err.Error())
		return nil
	}
	return fmt.Errorf("taking fields back from %s: %w", fieldowners.BeforeFirstApply, err)
}

// move moves the fields in one write, pinned to the object as it was read, and returns those
// that have moved. A dry run writes nothing.
func (c *call) move(ctx context.Context, lost []fieldowners.Path, live *unstructured.Unstructured) (moved []fieldowners.Path, err error) {
	rewrite, err := wire.PlanRewrite(ctx, c.config.LiveReader, live, fieldowners.Transfer{
		From:      []fieldowners.Source{{Manager: fieldowners.BeforeFirstApply, Paths: lost}},
		Operation: metav1.ManagedFieldsOperationUpdate, To: c.config.FieldManager, APIVersion: c.ref.GroupVersion().String(),
	})
	if err == nil {
		err = c.store(ctx, rewrite)
	}
	object := c.ref.as(live)
	switch {
	case err == nil:
		return slices.DeleteFunc(lost, func(path fieldowners.Path) bool {
			return !slices.ContainsFunc(rewrite.Plan.Moved, func(field fieldowners.Handover) bool { return field.Path.Compare(path) == 0 })
		}), nil
	case errors.Is(err, wire.ErrChanged):
		return nil, &StaleWriteError{Object: object, Err: err}
	case apierrors.IsNotFound(err):
		return nil, &UIDMismatchError{Object: object, Err: errAbsent}
	}
	return nil, Classify(ctx, object, err)
}

func (c *call) store(ctx context.Context, rewrite *wire.Rewrite) error {
	after, err := rewrite.Plan.Rewrite(rewrite.Before())
	switch {
	case err != nil:
		return err
	case len(rewrite.Plan.Moved) == 0: // as where our entry is in another apiVersion
		return fmt.Errorf("no field can be moved: %v", rewrite.Plan.Unmoved)
	case c.dryRun:
		return nil
	}
	if err := rewrite.Rehearse(ctx, c.client, c.config.FieldManager, after); err != nil {
		return err
	}
	c.Wrote(c.ref)
	return rewrite.Store(ctx, c.client, c.config.FieldManager, after)
}

// readOwn reads the object live. It returns nil with an error, and if the object is not the
// manager's own, which the apply reports.
func (c *call) readOwn(ctx context.Context) (*unstructured.Unstructured, error) {
	live, err := c.readLive(ctx)
	switch {
	case err != nil:
		return nil, err
	case live.GetUID() == "", live.GetResourceVersion() == "", c.target.uidGiven() && live.GetUID() != c.target.uid, !c.takes(c.intent.Intent, live):
		return nil, nil
	}
	return live, nil
}

// showMadeUp makes the server record the made-up owner of an object that has no managed fields,
// by an apply of the name alone, and returns the object with its managed fields. The apply is
// under that owner's name: under ours it would give up fields of ours that the read did not
// show.
func (c *call) showMadeUp(ctx context.Context, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	named := wire.Named(c.ref.GroupVersionKind, c.ref.NamespacedName)
	named.SetUID(live.GetUID())
	named.SetResourceVersion(live.GetResourceVersion())
	options := client.ApplyOptions{FieldManager: fieldowners.BeforeFirstApply}
	if c.dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	c.outcome.Attempts++
	c.exchange.Calling()
	err := c.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(named), &options)
	c.exchange.Called(err)
	return named, Classify(ctx, c.ref.as(live), err)
}

// plansToTakeBack reports whether a plan ends with taking fields back: a dry run of the apply
// after that would not see them taken back.
func (c *call) plansToTakeBack() bool { return c.dryRun && len(c.outcome.TakenBack) > 0 }

// lostMeanwhile reports whether managed fields were wiped since the cache saw the object.
func (c *call) lostMeanwhile(err error) bool {
	conflict := (*ConflictError)(nil)
	if !errors.As(err, &conflict) || !c.hasContract(c.intent.Intent) || len(c.outcome.TakenBack) > 0 {
		return false
	}
	for _, conflict := range conflict.Conflicts {
		if conflict.Decision == Reject && conflict.Manager.Name == fieldowners.BeforeFirstApply && c.isMine(conflict.Path) {
			return true
		}
	}
	return false
}
