// Package coapply connects controllers that write by Server-Side Apply to a controller-runtime
// manager. It is the entry point of the module.
//
// Call New once in a process, before the manager starts. The writes of two Runtimes are not serialised.
//
//	rt, err := coapply.New(mgr)
//
// For an existing controller, it is enough to replace its client.Client:
//
//	c := rt.Client("shop-web", apply.OnConflict(apply.Reject))
//	err = c.Apply(ctx, deployment)
//
// A new controller is a pure function that returns the intents of a parent's child objects. An intent contains an apply
// configuration and options for the apply (see apply.Intent):
//
//	err = coapply.For(rt, "shop-web", emit). // func(*Shop) ([]apply.Intent, error)
//		Owns(&appsv1.Deployment{}).
//		OnConflict(apply.OnConflict(apply.Reject).At(".spec.replicas", apply.Force)).
//		Complete()
//
// # What the package promises
//
//  1. A Runtime serialises applies by its Clients, Appliers and controllers, and writes by its Updaters,
//     to one object. So none of these writes makes the API server repeat another write.
//  2. No request is sent if the manager's cache and the API server's schemas prove that nothing
//     would change.
//  3. An ownership conflict is a typed error that names the field, both values and the other owner.
//     errors.As still finds the API server's response in the error.
//  4. If the cache strips managed fields, each apply returns an error that names the cache option.
//  5. A change of a child starts a reconcile, unless only the child's status changes. See Builder.Owns.
//  6. With WithBreaker, a controller stops forcing a field for some time if another field manager takes the field
//     back after each forced apply. An event names both field managers. See package breaker.
//  7. New starts no controller and no informer. Its only change to the manager is that it wraps the transport of the
//     manager's HTTP client, in order to see requests and responses.
//
// # What the caller does
//
//  1. Give each controller its own field manager. Two controllers with one field manager remove each other's fields.
//  2. Watch the objects to which a controller applies, as for any controller.
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

// Runtime contains the lanes, the SteadyState and the metrics that the controllers of a process share. The lanes serialise
// the writes to one object. The SteadyState proves that an apply would change nothing. A Runtime is safe for concurrent use.
type Runtime struct {
	mgr     ctrl.Manager
	lanes   *lanes.Set
	steady  *apply.SteadyState
	watched *watched
	loops   *apply.Loops
	metrics apply.Metrics
	breaker *breaker.Breaker // nil without the option WithBreaker: then the policy alone decides what to force

	within func(namespace *corev1.Namespace) bool // nil without Within: then writes in all namespaces are allowed

	controllers *sync.Map // by field manager and by finalizerOf: the name of the controller that was built with For

	looked   *recent.Cache[string, struct{}] // uid and resourceVersion of the objects that lookForStripped has checked
	stripped *atomic.Pointer[error]          // the error of every apply if the cache strips managed fields; otherwise nil
}

// Option is an option of New.
type Option func(*Runtime) error

// WithMetrics is an option of New. The Runtime then passes its observations to the given metrics. Without this option,
// New registers metrics in controller-runtime's registry.
func WithMetrics(counted apply.Metrics) Option {
	return func(rt *Runtime) error {
		rt.metrics = counted
		return nil
	}
}

// WithBreaker is an option of New. If another field manager takes a field back after each forced apply, the Breaker
// opens, and the field is not forced for some time (see package breaker). Each opening is reported by an event on the
// object, and by the metric coapply_breaker_opened_total in controller-runtime's registry.
func WithBreaker(b *breaker.Breaker) Option {
	return func(rt *Runtime) error {
		if b == nil {
			return errors.New("WithBreaker(nil): a Breaker is needed; give WithBreaker the result of breaker.New")
		}
		rt.breaker = b
		b.OnOpen(func(open *breaker.OpenError) { rt.warn(open.Conflict.Object, breaker.ReasonFight, open.Message()) })
		return nil
	}
}

// New returns the Runtime of a manager that is not started yet. Without WithMetrics it registers metrics in
// controller-runtime's registry, which the Runtimes of several managers share. A second call for the same manager
// returns an error, because the writes of two Runtimes would not be serialised.
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
	rt := &Runtime{mgr: mgr, lanes: lanes.New(), steady: steady, watched: informers, loops: apply.NewLoops(nil), controllers: &sync.Map{},
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

// claimed contains the managers that have a Runtime. The keys are the Elected channels of the managers: each manager
// has its own channel, and the channel does not keep the manager in memory.
var claimed sync.Map

// claimManager records that a manager has a Runtime. It returns an error if the manager already has a Runtime, or was
// already started.
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

// recordExchanges wraps the transport of the manager's HTTP client in order to see requests and responses. All clients
// of the manager share this HTTP client. No request may be in progress, so New must be called before the manager
// starts. The Runtime cannot use its own client, because the manager's client may have options of the caller, such as
// read-your-writes or dry runs, or may be the caller's own implementation.
//
// A manager for plain HTTP uses http.DefaultClient, which belongs to the whole process and is not changed. For this
// manager, apply.Outcome.Requests counts calls of the client instead of HTTP requests.
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

// Applier returns an Applier with the given field manager and conflict policy. Its writes are serialised with the
// other writes of the Runtime, and applies that would change nothing are not sent.
func (rt *Runtime) Applier(fieldManager string, policy apply.Policy) (*apply.Applier, error) {
	return rt.applier(rt.ApplierConfig(fieldManager, policy))
}

func (rt *Runtime) applier(config apply.Config) (*apply.Applier, error) {
	return apply.New(sender{Client: rt.mgr.GetClient(), rt: rt}, config)
}

// ApplierConfig returns the apply.Config that Applier uses. To make an Applier with other settings, change this Config
// and pass it to apply.New.
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

// Updater returns an Updater, which writes statuses and finalizers by get-modify-update. Its writes are serialised with
// the other writes of the Runtime.
func (rt *Runtime) Updater(fieldManager string) (*update.Updater, error) {
	return update.New(rt.UpdaterConfig(fieldManager))
}

// UpdaterConfig returns the update.Config that Updater uses. To make an Updater with other settings, change this Config
// and pass it to update.New.
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

// rememberedLooks is the maximum number of object versions that Runtime.looked remembers.
const rememberedLooks = 1024

// lookForStripped checks whether the manager's cache strips managed fields. The proof is a cached object without
// managed fields whose live version, at the same resourceVersion, has an entry of the given field manager. Later calls
// of refusal then return an error. (A manager does not expose its cache options, so they cannot be checked instead.)
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
		return // the next apply checks the object again
	}
	rt.looked.Put(version, struct{}{})
	ours := func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == fieldManager }
	if live.UID == cached.GetUID() && live.ResourceVersion == cached.GetResourceVersion() && slices.ContainsFunc(live.ManagedFields, ours) {
		err := fmt.Errorf("the manager's cache strips managed fields, which coapply needs to find the owners of fields (the cached %s %s has none): "+
			"remove cache.TransformStripManagedFields, or another transform that drops managed fields, from cache.Options.DefaultTransform and from "+
			"cache.Options.ByObject[].Transform; to save memory, use fieldowners.KeepOwn, which keeps the managed fields of your field managers only",
			kind.Kind, client.ObjectKeyFromObject(cached))
		rt.stripped.Store(&err)
	}
}

// refusal returns the error of every apply if the manager's cache strips managed fields. It returns nil until
// lookForStripped has detected this.
func (rt *Runtime) refusal() error {
	if err := rt.stripped.Load(); err != nil {
		return *err
	}
	return nil
}

// Within returns a copy of the Runtime that applies only in Namespaces for which the given function returns true. It
// keeps a controller out of Namespaces that belong to somebody else. Conflicts alone cannot do this, because
// the creation of an object causes no ownership conflict: nobody owns a field of a new object. The copy also applies nothing in a
// Namespace that does not exist or is being deleted. Writes by an Updater, and applies to cluster-scoped objects, are not
// limited. Namespaces are read from the manager's cache, so the manager needs permission to watch Namespaces.
func (rt *Runtime) Within(may func(namespace *corev1.Namespace) bool) *Runtime {
	limited := *rt
	limited.within = may
	return &limited
}

var (
	errForeignNamespace = fmt.Errorf("the object's Namespace %w", apply.ErrNotOurs)
	errNoNamespace      = errors.New("the object's Namespace does not exist")
)

// mayWriteIn returns an error if nothing may be applied in a Namespace: it does not exist, is being deleted, or is not
// allowed by Within.
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

// errGoing returns an error like that of the API server for a write in a Namespace that is being deleted.
func errGoing(name string) error {
	err := apierrors.NewForbidden(corev1.Resource("namespaces"), name, errors.New("the namespace is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return err
}
