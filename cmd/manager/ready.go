package main

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// tracked is a manager that knows whether the caches of its reconcilers are filled. A
// reconciler adds its informers only when it starts to watch, so before that the cache reports
// that it is synced, without any. A reconciler's Warmup ends when its caches are filled, and
// also runs on replicas that do not lead.
type tracked struct {
	ctrl.Manager
	filling atomic.Int32
}

// Add implements manager.Manager. It tracks runnables that have a Warmup.
func (t *tracked) Add(runnable manager.Runnable) error {
	reconciler, ok := runnable.(warmer)
	if !ok {
		return t.Manager.Add(runnable)
	}
	t.filling.Add(1)
	return t.Manager.Add(&trackedWarmer{warmer: reconciler, filling: &t.filling})
}

// check is the check of /readyz. It never waits.
func (t *tracked) check(*http.Request) error {
	if n := t.filling.Load(); n > 0 {
		return fmt.Errorf("the caches of %d reconcilers are not filled yet", n)
	}
	return nil
}

// warmer is a runnable whose Warmup controller-runtime runs before the election.
type warmer interface {
	manager.Runnable
	manager.LeaderElectionRunnable
	Warmup(context.Context) error
}

type trackedWarmer struct {
	warmer
	filling *atomic.Int32
}

// Warmup runs the runnable's Warmup, and then counts its caches as filled.
func (w *trackedWarmer) Warmup(ctx context.Context) error {
	err := w.warmer.Warmup(ctx)
	if err == nil && ctx.Err() == nil { // an early end is no error
		w.filling.Add(-1)
	}
	return err
}
