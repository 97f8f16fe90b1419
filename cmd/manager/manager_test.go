package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// stubManager keeps what is added and starts as told.
type stubManager struct {
	ctrl.Manager
	added []manager.Runnable
	run   func(context.Context) error
}

func (m *stubManager) Add(r manager.Runnable) error {
	m.added = append(m.added, r)
	return nil
}

func (m *stubManager) Start(ctx context.Context) error { return m.run(ctx) }

// stubWarmer is filled when told.
type stubWarmer struct {
	manager.Runnable
	filled chan error
}

func (w *stubWarmer) NeedLeaderElection() bool { return true }

func (w *stubWarmer) Warmup(ctx context.Context) error {
	select {
	case err := <-w.filled:
		return err
	case <-ctx.Done():
		return nil // as controller-runtime's
	}
}

func TestReadiness(t *testing.T) {
	failed := errors.New("no cache")
	for _, tt := range []struct {
		reason string
		fill   func(first, second *stubWarmer, stop context.CancelFunc)
		ready  bool
	}{
		{"nothing filled", func(_, _ *stubWarmer, _ context.CancelFunc) {}, false},
		{"one of two filled", func(first, _ *stubWarmer, _ context.CancelFunc) { first.filled <- nil }, false},
		{"both filled", func(first, second *stubWarmer, _ context.CancelFunc) { first.filled <- nil; second.filled <- nil }, true},
		{"one failed", func(first, second *stubWarmer, _ context.CancelFunc) { first.filled <- nil; second.filled <- failed }, false},
		{"stopped before", func(_, _ *stubWarmer, stop context.CancelFunc) { stop() }, false},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stub := &stubManager{}
				mgr := &tracked{Manager: stub}
				first, second := &stubWarmer{filled: make(chan error)}, &stubWarmer{filled: make(chan error)}
				other := manager.RunnableFunc(func(context.Context) error { return nil })
				if err := errors.Join(mgr.Add(first), mgr.Add(second), mgr.Add(other)); err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				for _, runnable := range stub.added {
					if w, ok := runnable.(warmer); ok {
						go func() { _ = w.Warmup(ctx) }()
					}
				}
				tt.fill(first, second, stop)
				synctest.Wait()
				if err := mgr.check(nil); (err == nil) != tt.ready {
					t.Errorf("ready is %v, want %v", err, tt.ready)
				}
			})
		})
	}
}

func TestRefusedWatch(t *testing.T) {
	ctx := klog.NewContext(t.Context(), logr.Discard())
	pods := schema.GroupResource{Resource: "pods"}
	for _, tt := range []struct {
		reason string
		filled bool
		err    error
		ends   bool
	}{
		{"forbidden at the start", false, apierrors.NewForbidden(pods, "", errors.New("told so")), true},
		{"credentials refused at the start", false, apierrors.NewUnauthorized("told so"), true},
		{"busy at the start", false, apierrors.NewTooManyRequests("told so", 1), false},
		{"forbidden later", true, apierrors.NewForbidden(pods, "", errors.New("told so")), false},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			mgr := &tracked{}
			if !tt.filled {
				mgr.filling.Add(1)
			}
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			endWhenRefused(mgr, cancel)(ctx, &toolscache.Reflector{}, tt.err)
			if ended := context.Cause(ctx); (ended != nil) != tt.ends || tt.ends && !strings.Contains(ended.Error(), "told so") {
				t.Errorf("ended with %v, want an end: %v", ended, tt.ends)
			}
		})
	}
}

func TestStart(t *testing.T) {
	lost, refused := errors.New("leader election lost"), errors.New("refused")
	untilStopped := func(ctx context.Context) error { <-ctx.Done(); return nil }
	for _, tt := range []struct {
		reason string
		run    func(context.Context) error
		end    error // given after a second
		want   error
	}{
		{"fails by itself", func(context.Context) error { return lost }, nil, lost},
		{"asked to stop", untilStopped, context.Canceled, nil},
		{"ended for a reason", untilStopped, refused, refused},
		{"fails while it stops", func(ctx context.Context) error { <-ctx.Done(); return lost }, context.Canceled, lost},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(tt.end) })
				if err := new(options).start(ctx, &stubManager{run: tt.run}); !errors.Is(err, tt.want) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
				cancel(nil)
			})
		})
	}
}

func TestStartDoesNotHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung := make(chan struct{})
		defer close(hung)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		o := options{gracefulShutdownTimeout: 20 * time.Second}
		began := time.Now()
		err := o.start(ctx, &stubManager{run: func(context.Context) error { <-hung; return nil }})
		if err == nil || !strings.Contains(err.Error(), "did not stop in time") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != o.gracefulShutdownTimeout+stopMargin {
			t.Errorf("took %v", took)
		}
	})
}
