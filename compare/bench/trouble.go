package bench

import (
	"context"
	"fmt"
	"time"
)

// reviveTimeout is the time for which a run waits for an API server that does not respond.
const reviveTimeout = 30 * time.Second

// afterVoid checks the API server after a void trial, and waits up to reviveTimeout for a response. If a local API
// server does not respond in time, afterVoid starts another control plane for the remaining trials. If the context
// ends, afterVoid returns nil.
func (b *bench) afterVoid(ctx context.Context) error {
	err := b.cluster.answers(ctx)
	if err == nil || ctx.Err() != nil {
		return nil //nolint:nilerr // the caller notices the end of the context
	}
	b.progress.say(fmt.Sprintf("the API server does not respond; waiting up to %s for it: %v", reviveTimeout, err))
	for deadline := time.Now().Add(reviveTimeout); err != nil && time.Now().Before(deadline); err = b.cluster.answers(ctx) {
		if !sleep(ctx, pause) {
			return nil
		}
	}
	switch {
	case err == nil:
		return nil
	case !b.cluster.IsLocal():
		return fmt.Errorf("the API server still does not respond: %w; the trials so far are saved", err)
	}
	return b.replace(ctx)
}

func (b *bench) replace(ctx context.Context) error {
	b.progress.say("the control plane is gone; starting another one")
	if err := b.close(ctx); err != nil {
		b.progress.say(fmt.Sprintf("stopping the old control plane failed: %v", err))
	}
	var err error
	b.cluster, err = b.open(ctx)
	if err != nil && ctx.Err() == nil { // otherwise the caller notices the end of the context
		return fmt.Errorf("starting another control plane: %w; the trials so far are saved", err)
	}
	return nil
}

// sleep waits for the given duration. It returns false if the context ends first.
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
