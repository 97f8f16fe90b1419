package bench

import (
	"context"
	"fmt"
	"time"
)

// reviveTimeout is how long a run waits for an API server that does not answer.
const reviveTimeout = 30 * time.Second

// afterVoid waits until the API server answers, if that is what made the trial void. One that stays away is replaced if
// it is the run's own, so that the rest of the plan is measured. It returns early, without an error, when the context
// ends.
func (b *bench) afterVoid(ctx context.Context) error {
	err := b.cluster.answers(ctx)
	if err == nil || ctx.Err() != nil {
		return nil //nolint:nilerr // the caller looks at the context
	}
	b.progress.say(fmt.Sprintf("the API server does not answer; waiting %s for it: %v", reviveTimeout, err))
	for deadline := time.Now().Add(reviveTimeout); err != nil && time.Now().Before(deadline); err = b.cluster.answers(ctx) {
		if !sleep(ctx, pause) {
			return nil
		}
	}
	switch {
	case err == nil:
		return nil
	case !b.cluster.IsLocal():
		return fmt.Errorf("the API server does not come back: %w; what was measured until then is kept", err)
	}
	return b.replace(ctx)
}

// replace stops the run's own control plane, and starts another.
func (b *bench) replace(ctx context.Context) error {
	b.progress.say("the control plane is gone; starting another one")
	if err := b.close(ctx); err != nil {
		b.progress.say(fmt.Sprintf("the old control plane: %v", err))
	}
	var err error
	b.cluster, err = b.open(ctx)
	if err != nil && ctx.Err() == nil { // otherwise the caller looks at the context
		return fmt.Errorf("starting another control plane: %w; what was measured until then is kept", err)
	}
	return nil
}

// sleep is false when the context ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
