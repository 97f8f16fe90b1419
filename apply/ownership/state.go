package ownership

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/wire"
)

// found is an object at one resourceVersion, and what a transfer does to it.
type found struct {
	wire.Rewrite

	done  bool // the managed fields are as the plan leaves them
	stale bool // a write has failed: the object is at another resourceVersion
}

// errAbsent means that the object does not exist any more.
var errAbsent = errors.New("the object does not exist")

// read reads the object live and plans.
func (t *Transfer) read(ctx context.Context) (state *found, err error) {
	exhausted, err := wire.Tries(ctx, apply.IsStaleWrite, func() (err error) {
		state, err = t.readOnce(ctx)
		return err
	})
	if exhausted {
		return nil, &apply.ContendedError{Object: t.object, Err: err}
	}
	return state, err
}

func (t *Transfer) readOnce(ctx context.Context) (*found, error) {
	reader, live := t.applier.Config().LiveReader, wire.Named(t.object.GroupVersionKind, t.object.NamespacedName)
	err := reader.Get(ctx, t.object.NamespacedName, live)
	switch {
	case apierrors.IsNotFound(err) && t.object.UID != "":
		return nil, &apply.UIDMismatchError{Object: t.object, Err: errAbsent}
	case err != nil:
		return nil, apply.Classify(ctx, t.object, fmt.Errorf("reading it: %w", err))
	case t.object.UID != "" && t.object.UID != live.GetUID():
		return nil, &apply.UIDMismatchError{Object: t.object, Err: fmt.Errorf("the live object has uid %s", live.GetUID())}
	case live.GetUID() == "" || live.GetResourceVersion() == "":
		return nil, &apply.RefusedError{Object: t.object, Err: errors.New("LiveReader gave it without uid or resourceVersion, so that no write can be guarded")}
	}
	rewrite, err := wire.PlanRewrite(ctx, reader, live, t.fields)
	if errors.Is(err, wire.ErrChanged) {
		return nil, &apply.StaleWriteError{Object: t.object, Err: err}
	}
	if err != nil {
		return nil, apply.Classify(ctx, t.object, err)
	}
	return &found{Rewrite: *rewrite}, nil
}
