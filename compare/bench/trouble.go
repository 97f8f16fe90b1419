package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"time"

	"k8s.io/client-go/discovery"

	"coapply.dev/compare/results"
)

// How long a run waits for a disk with space, and for an API server that does not answer.
const (
	spaceTimeout  = 2 * time.Minute
	reviveTimeout = 30 * time.Second
	pause         = 2 * time.Second
)

// append keeps a trial. A full disk is waited for, as someone may make room; a trial that cannot be kept at all is part
// of the error, so that it is not lost either.
func (b *bench) append(ctx context.Context, t results.Trial) error {
	deadline := time.Now().Add(spaceTimeout)
	for {
		err := b.folder.Append(t)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.ENOSPC) || time.Now().After(deadline) || !sleep(ctx, pause) {
			line, _ := json.Marshal(t) // a Trial has nothing that does not marshal
			return fmt.Errorf("%w; those before are kept, this one is:\n%s", err, line)
		}
		b.progress.say(fmt.Sprintf("no space left in %s: make room, the run waits until %s",
			b.Dir, deadline.Format(time.TimeOnly)))
	}
}

// revive waits until the API server answers, after a trial that is void. One that stays away is replaced if it is the
// run's own, so that the rest of the plan is measured.
func (b *bench) revive(ctx context.Context) error {
	deadline := time.Now().Add(reviveTimeout)
	err := b.answers(ctx)
	for ; err != nil && time.Now().Before(deadline); err = b.answers(ctx) {
		b.progress.say("the API server does not answer; waiting for it")
		if !sleep(ctx, pause) {
			return ErrInterrupted
		}
	}
	switch {
	case err == nil:
		return nil
	case !b.target.IsLocal():
		return fmt.Errorf("the API server does not come back: %w; what was measured until then is kept", err)
	}
	b.progress.say("the control plane is gone; starting another one")
	if err := b.close(ctx); err != nil {
		b.progress.say(fmt.Sprintf("the old control plane: %v", err))
	}
	b.target, err = b.Open(ctx)
	if err != nil {
		return fmt.Errorf("starting another control plane: %w; what was measured until then is kept", err)
	}
	return nil
}

func (b *bench) answers(ctx context.Context) error {
	config := b.target.Admin()
	config.Timeout = pause
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	_, err = client.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err
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
