package apply

import (
	"context"
	"time"

	"coapply.dev/apply/internal/wire"
)

// applyOnce is steps 4 to 6, each try inside the lane.
func (c *call) applyOnce(ctx context.Context) (action Action, err error) {
	c.concessions, c.conflicts = concessions{}, nil
	settling := false
	exhausted, err := wire.Tries(ctx, IsStaleWrite, func() error {
		return c.inLane(ctx, func(ctx context.Context) (err error) {
			action, err = c.try(ctx, settling)
			settling = true
			return err
		})
	})
	switch {
	case exhausted:
		return "", &ContendedError{Object: c.ref, Attempts: c.attempts, Conflicts: c.conflicts, Err: err}
	case err != nil:
		return "", err
	}
	return action, nil
}

// try sends the intent and settles its conflicts, or settles again. A stale write is
// returned for another try.
func (c *call) try(ctx context.Context, settling bool) (action Action, err error) {
	if settling = settling || c.birth.doubtful; !settling {
		var settled bool
		if action, settled, err = c.applyRemembered(ctx); settled {
			return action, c.explain(ctx, err)
		}
		action, err = c.send(ctx, c.intent, c.pinned(), false)
		settling = IsOwnershipConflict(err) || c.unexpected(err)
	}
	if settling {
		action, err = c.settle(ctx, err)
	}
	switch {
	case settling && IsStaleWrite(err):
		return "", err
	case err != nil:
		return "", c.explain(ctx, err)
	}
	c.remember()
	return action, nil
}

// inLane does something inside the lane of the object. The server's dry runs change
// nothing, and wait for nobody.
func (c *call) inLane(ctx context.Context, do func(context.Context) error) error {
	if c.dryRun {
		return do(ctx)
	}
	start := time.Now()
	inside, leave, err := c.config.Lanes.Enter(ctx, c.ref.Key())
	c.waited += time.Since(start)
	if err != nil {
		return err
	}
	defer leave()
	return do(inside)
}
