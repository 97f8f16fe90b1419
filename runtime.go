// Package coapply connects controllers that write by Server-Side Apply to a controller-runtime
// manager. It is the entry point of the module.
//
// Call New once in a process, before the manager starts:
//
//	rt, err := coapply.New(mgr)
//
// An existing controller only needs another client.Client:
//
//	c := rt.Client("shop-web", apply.OnConflict(apply.Reject))
//	err = c.Apply(ctx, deployment)
//
// A new controller is a pure function from a parent object to the intents for its children:
//
//	err = coapply.For(rt, "shop-web", emit). // func(*Shop) ([]apply.Intent, error)
//		Owns(&appsv1.Deployment{}).
//		OnConflict(apply.OnConflict(apply.Reject).At(".spec.replicas", apply.Force)).
//		Complete()
//
// # What the package promises
//
//  1. The writes of one process to one object are serialised: applies by a Client, an Applier or
//     a controller of a Runtime, and writes by its Updaters. So the API server never repeats one
//     of these writes because of another one.
//  2. No request is sent if the manager's cache and the API server's schemas prove that nothing
//     would change.
//  3. A conflict is a typed error that names the field, both values and the other owner.
//     errors.As still finds the API server's response in the error.
//  4. If the cache strips managed fields, each apply returns an error that names the cache option.
//  5. A change of a child leads to a reconcile if it changes more than the child's status. See
//     Builder.Owns.
//  6. With WithBreaker, a field that another field manager takes back again and again is for some
//     time not forced. An event names both field managers. See package breaker.
//  7. New starts no controller and no informer. It wraps the transport of the manager's HTTP
//     client, to see requests and responses, and changes nothing else of the manager.
//
// # What the caller does
//
//  1. Calls New once, before the manager starts: the writes of two Runtimes are not serialised.
//  2. Gives each controller its own field manager. Two controllers with one field manager remove
//     each other's fields.
//  3. Watches the objects to which a controller applies, as any controller does.
//
// If the manager does not cache an object, each apply first reads the object from the API server.
// Examples are kinds in client.CacheOptions.DisableFor, and unstructured objects of kinds outside
// of the scheme.
package coapply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"coapply.dev/apply"
	"coapply.dev/apply/breaker"
	"coapply.dev/apply/lanes"
	"coapply.dev/apply/metrics"
	"coapply.dev/apply/update"
	"coapply.dev/internal/recent"
)

// Runtime holds what the controllers of a process share: the lanes, in which writes to one object
// are serialised, the no-op check, which skips applies that would change nothing, and the metrics.
// It is safe for concurrent use.
type Runtime struct {
	mgr     ctrl.Manager
	lanes   *lanes.Set
	steady  *apply.SteadyState
	watched *watched
	loops   *apply.Loops
	metrics apply.Metrics
	breaker *breaker.Breaker // nil if New was called without WithBreaker; every forced apply is then sent

	within func(namespace *corev1.Namespace) bool // nil if Within was not called; all namespaces are then allowed

	controllers *controllers // the controllers that For has added

	looked   *recent.Cache[string, struct{}] // the object versions that lookForStripped has checked
	stripped *atomic.Pointer[error]          // the error that refusal returns; nil unless the cache strips managed fields
}

// Option is an option of New.
type Option func(*Runtime) error

// WithMetrics is an option of New. The Runtime reports its writes to counted, and not to the
// metrics that New otherwise registers in controller-runtime's registry.
func WithMetrics(counted apply.Metrics) Option {
	return func(rt *Runtime) error {
		rt.metrics = counted
		return nil
	}
}

// WithBreaker is an option of New. A field manager then stops forcing a field that other field
// managers take back again and again, see package breaker. Each time that the Breaker opens, an
// event is recorded on the object, and the metric coapply_breaker_opened_total in
// controller-runtime's registry is incremented.
func WithBreaker(b *breaker.Breaker) Option {
	return func(rt *Runtime) error {
		if b == nil {
			return errors.New("WithBreaker(nil): a Breaker is needed; give WithBreaker the result of breaker.New")
		}
		rt.breaker = b
		b.OnOpen(rt.breakerOpened)
		return nil
	}
}

// New returns the Runtime of a manager that is not started yet. It registers metrics in
// controller-runtime's registry. Runtimes of several managers share these metrics. A second call
// for one manager returns an error, because the writes of two Runtimes would not be serialised.
func New(mgr ctrl.Manager, options ...Option) (_ *Runtime, err error) {
	if mgr == nil {
		return nil, errors.New("coapply.New: a manager is needed, but the manager given is nil")
	}
	if err := claimManager(mgr); err != nil {
		return nil, fmt.Errorf("coapply: %w", err)
	}
	defer func() {
		if err != nil {
			claimed.Delete(mgr.Elected())
		}
	}()
	informers := newWatched()
	recordExchanges(mgr.GetHTTPClient(), informers)
	server, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("coapply: making a client for the API server's schemas: %w", err)
	}
	// Use the manager's client and not its cache: the client reads uncached kinds from the API server,
	// and may be configured to wait until the cache shows the client's own writes.
	steady, err := apply.NewSteadyState(mgr.GetClient(), server.OpenAPIV3())
	if err != nil {
		return nil, fmt.Errorf("coapply: %w", err)
	}
	rt := &Runtime{mgr: mgr, lanes: lanes.New(), steady: steady, watched: informers, loops: apply.NewLoops(nil), controllers: &controllers{},
		looked: recent.New[string, struct{}](rememberedLooks), stripped: &atomic.Pointer[error]{}}
	for _, option := range options {
		if err = option(rt); err != nil {
			return nil, fmt.Errorf("coapply: %w", err)
		}
	}
	if rt.metrics == nil {
		if rt.metrics, err = metrics.New(ctrlmetrics.Registry); err != nil {
			return nil, fmt.Errorf("coapply: %w", err)
		}
	}
	return rt, nil
}

// claimed holds the managers that have a Runtime. The key is the manager's Elected channel: each
// manager has its own channel, and the channel does not keep the manager in memory.
var claimed sync.Map

// claimManager records that a manager has a Runtime. It returns an error if the manager has a
// Runtime already or was started.
func claimManager(mgr ctrl.Manager) error {
	select {
	case <-mgr.Elected():
		return errors.New("the manager was started before coapply.New, which has to change the manager's HTTP client first: " +
			"call coapply.New before mgr.Start")
	default:
	}
	if _, before := claimed.LoadOrStore(mgr.Elected(), true); before {
		return errors.New("coapply.New was called twice for one manager: call it once, and give the Runtime to every controller of the manager")
	}
	return nil
}

// recordExchanges wraps the transport of the manager's HTTP client, to see requests and responses.
// All clients of the manager share this HTTP client, and read its transport at each request. A
// Runtime does not write with a client of its own: the manager's client may wait for its writes,
// send dry runs, or be a client of the user. Call New before the manager starts, while no request
// is in progress.
//
// A manager for plain HTTP has http.DefaultClient, which belongs to the whole process. That client
// is not changed, and apply.Outcome.Requests then counts calls of the client, not HTTP requests.
func recordExchanges(c *http.Client, informers *watched) {
	if c == nil || c == http.DefaultClient {
		return
	}
	next := c.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	if recorded := apply.RecordExchange(next); reflect.TypeOf(next) != reflect.TypeOf(recorded) {
		next = recorded
	}
	c.Transport = watchRecorder{next, informers}
}

// Applier returns an Applier for a field manager. policy decides its ownership conflicts. Its writes
// are serialised with other writes of the Runtime, and applies that would change nothing are not sent.
func (rt *Runtime) Applier(fieldManager string, policy apply.Policy) (*apply.Applier, error) {
	return rt.applier(rt.ApplierConfig(fieldManager, policy))
}

func (rt *Runtime) applier(config apply.Config) (*apply.Applier, error) {
	return apply.New(sender{Client: rt.mgr.GetClient(), rt: rt}, config)
}

// ApplierConfig returns the Config that Applier uses. To make an Applier with other settings,
// change the Config and call apply.New.
func (rt *Runtime) ApplierConfig(fieldManager string, policy apply.Policy) apply.Config {
	config := apply.Config{
		FieldManager: fieldManager,
		Policy:       policy,
		LiveReader:   rt.mgr.GetAPIReader(),
		Lanes:        rt.lanes,
		Steady:       rt.steady.ReadBy(reader{Client: rt.mgr.GetClient(), rt: rt, fieldManager: fieldManager}),
		Loops:        rt.loops,
		Metrics:      loopEvents{rt.metrics, rt},
	}
	if rt.breaker != nil {
		config.Policy, config.Metrics = rt.breaker.Policy(fieldManager, policy), rt.breaker.Metrics(config.Metrics)
	}
	return config
}

// Updater returns an Updater, which writes statuses and finalizers by get-modify-update. Its writes
// are serialised with the other writes of the Runtime.
func (rt *Runtime) Updater(fieldManager string) (*update.Updater, error) {
	return update.New(rt.UpdaterConfig(fieldManager))
}

// UpdaterConfig returns the Config that Updater uses. To make an Updater with other settings,
// change the Config and call update.New.
func (rt *Runtime) UpdaterConfig(fieldManager string) update.Config {
	return update.Config{
		Client:       rt.writes(),
		LiveReader:   rt.mgr.GetAPIReader(),
		FieldManager: fieldManager,
		Lanes:        rt.lanes,
		Schemas:      rt.steady.Schemas,
		Metrics:      rt.metrics,
	}
}

// rememberedLooks is the maximum number of object versions in Runtime.looked.
const rememberedLooks = 1024

// lookForStripped detects a cache that strips managed fields: the cached object has none, and the
// live object at the same resourceVersion has an entry of this field manager. The Runtime cannot
// look at the options of the cache instead, because a manager does not show them.
func (rt *Runtime) lookForStripped(ctx context.Context, fieldManager string, cached client.Object) {
	if len(cached.GetManagedFields()) > 0 || rt.refusal() != nil {
		return
	}
	version := string(cached.GetUID()) + "/" + cached.GetResourceVersion()
	if _, before := rt.looked.Get(version); before {
		return
	}
	kind, err := rt.mgr.GetClient().GroupVersionKindFor(cached)
	if err != nil {
		return
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(kind)
	if err := rt.mgr.GetAPIReader().Get(ctx, client.ObjectKeyFromObject(cached), live); err != nil {
		return // the next apply checks it again
	}
	rt.looked.Put(version, struct{}{})
	ours := func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == fieldManager }
	if live.UID == cached.GetUID() && live.ResourceVersion == cached.GetResourceVersion() && slices.ContainsFunc(live.ManagedFields, ours) {
		err := fmt.Errorf("the manager's cache strips managed fields, by which coapply knows who owns which field (the cached %s %s has none): "+
			"remove cache.TransformStripManagedFields, or another transform that drops managed fields, from cache.Options.DefaultTransform and from "+
			"cache.Options.ByObject[].Transform; to save memory, use fieldowners.KeepOwn, which keeps the managed fields of your field managers only",
			kind.Kind, client.ObjectKeyFromObject(cached))
		rt.stripped.Store(&err)
	}
}

// refusal returns the error that every apply returns once lookForStripped has found that the cache
// strips managed fields. Before that, refusal returns nil.
func (rt *Runtime) refusal() error {
	if err := rt.stripped.Load(); err != nil {
		return *err
	}
	return nil
}

// Within returns a copy of the Runtime that applies only in Namespaces for which may returns true.
// Without Within, an apply of a new object in somebody else's Namespace succeeds, because nobody
// owns a field of the object yet. Within reads Namespaces from the manager's cache, so the manager
// needs the right to watch Namespaces. Nothing is applied in a Namespace that does not exist or is
// being deleted. Updates, and cluster-scoped objects, are not limited.
func (rt *Runtime) Within(may func(namespace *corev1.Namespace) bool) *Runtime {
	limited := *rt
	limited.within = may
	return &limited
}

var (
	errForeignNamespace = fmt.Errorf("the object's Namespace is %w", apply.ErrNotOurs)
	errNoNamespace      = errors.New("the object's Namespace does not exist")
)

// mayWriteIn returns an error if nothing may be applied in a Namespace, because the Namespace does
// not exist, is being deleted, or is not allowed by Within.
func (rt *Runtime) mayWriteIn(ctx context.Context, name string) error {
	if rt.within == nil || name == "" {
		return nil
	}
	var namespace corev1.Namespace
	err := rt.mgr.GetClient().Get(ctx, client.ObjectKey{Name: name}, &namespace)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return err
	case err != nil:
		return errNoNamespace
	case !rt.within(&namespace):
		return errForeignNamespace
	case namespace.DeletionTimestamp != nil:
		return errGoing(name)
	}
	return nil
}

// errGoing returns the API server's error for a write in a Namespace that is being deleted.
func errGoing(name string) error {
	err := apierrors.NewForbidden(corev1.Resource("namespaces"), name, errors.New("it is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return err
}
