package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/breaker"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers"
	"coapply.dev/platform/controllers/fieldmanagers"
	"coapply.dev/platform/controllers/setup"
)

// leaderElectionID names the Lease. Replicas of two versions must agree on it.
const leaderElectionID = "coapply-manager.coapply.dev"

// serve checks and runs until the context ends or something fails.
func (o *options) serve(ctx context.Context, selected []controllers.Controller, stderr io.Writer) error {
	if err := fieldmanagers.Check(fieldmanagers.All()); err != nil {
		return err
	}
	leaseNamespace := ""
	if o.leaderElect {
		var err error
		if leaseNamespace, err = o.leaseNamespace(); err != nil {
			return err
		}
	}
	config, err := loadConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	logger := newLogger(o.logFormat.value, o.logLevel.value, stderr)
	ctrl.SetLogger(logger) // controller-runtime and client-go keep theirs in a global
	klog.SetLogger(logger.WithName("client-go"))
	scheme := newScheme()
	if err := checkCluster(ctx, config, scheme, leaseNamespace); err != nil {
		return err
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	mgr := &tracked{}
	managerOptions := o.managerOptions(scheme, leaseNamespace)
	managerOptions.Logger = logger
	managerOptions.Cache.DefaultWatchErrorHandler = endWhenRefused(mgr, cancel)
	if mgr.Manager, err = ctrl.NewManager(config, managerOptions); err != nil {
		return fmt.Errorf("setting up: %w", err)
	}
	if err := o.setUp(mgr, selected); err != nil {
		return fmt.Errorf("setting up: %w", err)
	}
	err = o.start(ctx, mgr)
	if err != nil && ctx.Err() == nil { // it ended by itself
		return fmt.Errorf("%w%s", err, unreachable(ctx, config))
	}
	return err
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

func (o *options) managerOptions(scheme *runtime.Scheme, leaseNamespace string) ctrl.Options {
	return ctrl.Options{
		Scheme: scheme,
		Cache:  setup.Cache(),
		// Reads wait until the cache has our own writes; ReconciliationTimeout bounds that.
		Client: client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}},
		Controller: ctrlconfig.Controller{
			ReconciliationTimeout:   o.reconciliationTimeout,
			MaxConcurrentReconciles: o.concurrency,
			// A replica that waits for the lead has filled caches, takes over at once,
			// and finds out early that it cannot watch.
			EnableWarmup: new(true),
		},
		LeaderElection:          o.leaderElect,
		LeaderElectionID:        leaderElectionID,
		LeaderElectionNamespace: leaseNamespace,
		// Sound because the process ends as soon as Start returns.
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &o.gracefulShutdownTimeout,
		HealthProbeBindAddress:        o.probeAddress,
		Metrics: metricsserver.Options{
			BindAddress:    o.metricsAddress,
			SecureServing:  true,
			FilterProvider: metricsAccess,
		},
	}
}

func (o *options) setUp(mgr *tracked, selected []controllers.Controller) error {
	forces, err := breaker.New(breaker.Config{PerMinute: o.forcesPerMinute})
	if err != nil {
		return err
	}
	rt, err := coapply.New(mgr, coapply.WithBreaker(forces))
	if err != nil {
		return err
	}
	shared := setup.Options{Runtime: rt, Replicas: o.replicasDecision()}
	for _, c := range selected {
		if err := c.Setup(mgr, shared); err != nil {
			return err
		}
	}
	return errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("caches", mgr.check),
	)
}

func (o *options) replicasDecision() apply.Decision {
	if o.replicasConflict.value == apply.Force.String() {
		return apply.Force
	}
	return apply.Reject
}

// endWhenRefused returns a handler that ends the start if the API server refuses a watch:
// caches that never fill would keep the manager waiting. Later refusals are logged and retried,
// as they come and go while an API server restarts.
func endWhenRefused(mgr *tracked, end context.CancelCauseFunc) toolscache.WatchErrorHandlerWithContext {
	return func(ctx context.Context, r *toolscache.Reflector, err error) {
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
		refused := apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
		if refused && mgr.check(nil) != nil {
			end(fmt.Errorf("%w; config/rbac has the ClusterRole", err))
		}
	}
}

// stopMargin is the time that stopping may take beyond the graceful shutdown.
const stopMargin = 5 * time.Second

// start runs the manager. It does not wait for a manager that does not stop, such as one whose
// caches never filled.
func (o *options) start(ctx context.Context, mgr ctrl.Manager) error {
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		select {
		case err = <-ended:
		case <-time.After(o.gracefulShutdownTimeout + stopMargin):
			err = errors.New("did not stop in time")
		}
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

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
