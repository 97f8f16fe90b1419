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

// leaderElectionID is the name of the leader election's Lease. It must be the same in all versions,
// so that replicas of two versions never reconcile at the same time.
const leaderElectionID = "coapply-manager.coapply.dev"

// serve checks the cluster and runs the selected reconcilers until ctx ends or an error occurs.
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
	ctrl.SetLogger(logger) // controller-runtime and client-go have global loggers
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
		return fmt.Errorf("creating the manager: %w", err)
	}
	if err := o.setUp(mgr, selected); err != nil {
		return fmt.Errorf("setting up the reconcilers: %w", err)
	}
	err = o.start(ctx, mgr)
	if err != nil && ctx.Err() == nil { // the manager ended by itself
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
		// A read waits until the cache contains the writes of this process, but not longer than ReconciliationTimeout.
		Client: client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}},
		Controller: ctrlconfig.Controller{
			ReconciliationTimeout:   o.reconciliationTimeout,
			MaxConcurrentReconciles: o.concurrency,
			// With warm-up, a replica that is not the leader has synced caches. It can take over
			// at once, and it fails early if RBAC does not allow it to watch a kind.
			EnableWarmup: new(true),
		},
		LeaderElection:          o.leaderElect,
		LeaderElectionID:        leaderElectionID,
		LeaderElectionNamespace: leaseNamespace,
		// Releasing the Lease is safe because the process ends as soon as Start returns.
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

// endWhenRefused returns a watch error handler. If the API server rejects a watch (401 or 403) before
// the caches are synced, the handler ends the manager, which would otherwise wait forever. Later
// rejections are only logged and retried, because a restarting API server may cause them.
func endWhenRefused(mgr *tracked, end context.CancelCauseFunc) toolscache.WatchErrorHandlerWithContext {
	return func(ctx context.Context, r *toolscache.Reflector, err error) {
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
		refused := apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
		if refused && mgr.check(nil) != nil {
			end(fmt.Errorf("%w; config/rbac has the ClusterRole that grants the access", err))
		}
	}
}

// stopMargin is how long start waits for the manager to stop, in addition to --graceful-shutdown-timeout.
const stopMargin = 5 * time.Second

// start runs the manager until ctx ends or an error occurs. If the manager does not stop in time, for
// example because its caches never synced, start returns an error although the manager still runs.
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
			err = errors.New("the manager did not stop in time: the process ends, because --graceful-shutdown-timeout has passed")
		}
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// tracked is a manager that counts the reconcilers whose caches are not synced yet: those whose Warmup has not
// succeeded. Warmup also runs on replicas that are not the leader. The cache itself would report too early that it is
// synced, because a reconciler adds its informers to the cache only during Warmup.
type tracked struct {
	ctrl.Manager
	filling atomic.Int32 // the number of reconcilers whose caches are not synced yet
}

// Add adds a runnable to the manager. If the runnable has a method Warmup, its caches count as not synced until Warmup succeeds.
func (t *tracked) Add(runnable manager.Runnable) error {
	reconciler, ok := runnable.(warmer)
	if !ok {
		return t.Manager.Add(runnable)
	}
	t.filling.Add(1)
	return t.Manager.Add(&trackedWarmer{warmer: reconciler, filling: &t.filling})
}

// check is the readiness check of /readyz: it returns an error until all caches are synced. It never blocks.
func (t *tracked) check(*http.Request) error {
	if n := t.filling.Load(); n > 0 {
		return fmt.Errorf("the caches of %d reconcilers are not synced yet", n)
	}
	return nil
}

// warmer is a runnable that has a method Warmup, such as a reconciler. controller-runtime calls Warmup before leader election.
type warmer interface {
	manager.Runnable
	manager.LeaderElectionRunnable
	Warmup(context.Context) error
}

type trackedWarmer struct {
	warmer
	filling *atomic.Int32 // points to tracked.filling
}

// Warmup calls the Warmup of the runnable. If it succeeds, the caches of the runnable count as synced.
func (w *trackedWarmer) Warmup(ctx context.Context) error {
	err := w.warmer.Warmup(ctx)
	if err == nil && ctx.Err() == nil { // a cancelled Warmup returns no error
		w.filling.Add(-1)
	}
	return err
}
