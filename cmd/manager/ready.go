package main

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// tracked is a manager that knows whether the caches of its reconcilers are
// filled. A reconciler names its caches only when it starts to watch, so asking
// the cache whether it is synced says yes to an empty set before that. Its Warmup
// ends when the caches are filled, and it runs on replicas that do not lead, too.
type tracked struct {
	ctrl.Manager
	filling atomic.Int32
}

// Add tracks what has a Warmup.
func (t *tracked) Add(runnable manager.Runnable) error {
	reconciler, ok := runnable.(warmer)
	if !ok {
		return t.Manager.Add(runnable)
	}
	t.filling.Add(1)
	return t.Manager.Add(&trackedWarmer{warmer: reconciler, filling: &t.filling})
}

// check is for /readyz. It never waits.
func (t *tracked) check(*http.Request) error {
	if n := t.filling.Load(); n > 0 {
		return fmt.Errorf("the caches of %d reconcilers are not filled yet", n)
	}
	return nil
}

// warmer is what controller-runtime runs before the election.
type warmer interface {
	manager.Runnable
	manager.LeaderElectionRunnable
	Warmup(context.Context) error
}

type trackedWarmer struct {
	warmer
	filling *atomic.Int32
}

// Warmup counts the caches as filled once they are.
func (w *trackedWarmer) Warmup(ctx context.Context) error {
	err := w.warmer.Warmup(ctx)
	if err == nil && ctx.Err() == nil { // ended early is no error
		w.filling.Add(-1)
	}
	return err
}
