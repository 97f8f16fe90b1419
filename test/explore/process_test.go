package explore

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"coapply.dev"
	"coapply.dev/apply"
)

// Process is a process with a manager and a Runtime. Its actors share the lanes, the ledger and the cache of the process.
// A new process has read the latest state.
type Process struct {
	Runtime *coapply.Runtime
	Manager ctrl.Manager

	appliers map[string]*apply.Applier // by the name of the actor

	position     int // the number of events that the cache has got
	acknowledged int // the last event by an apply of the process that was acknowledged
}

func (r *run) newProcess(name string) *Process {
	p := &Process{position: len(r.events), appliers: map[string]*apply.Applier{}}
	config := r.server.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return gate{r, next} })
	config.UserAgent = name
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:         processScheme,
		Metrics:        metricsserver.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper(), nil },
		NewCache:       func(*rest.Config, cache.Options) (cache.Cache, error) { return lagging{run: r, process: p}, nil },
		Client:         client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		r.fail(fmt.Errorf("making a manager: %w", err))
		return p
	}
	p.Manager = mgr
	if p.Runtime, err = coapply.New(mgr); err != nil {
		r.fail(fmt.Errorf("making a Runtime: %w", err))
	}
	return p
}

// processScheme has no Go type for a Widget, so Widgets are unstructured.
var processScheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(s))
	return s
}()

func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{widgetKind.GroupVersion()})
	m.Add(shopKind, meta.RESTScopeNamespace)
	m.AddSpecific(widgetKind, widgetKind.GroupVersion().WithResource("widgets"), widgetKind.GroupVersion().WithResource("widget"), meta.RESTScopeNamespace)
	return m
}

// lagging is the cache of a process. The explorer decides when it gets an event.
type lagging struct {
	cache.Cache // nil: the code under test calls only the methods below

	run     *run
	process *Process
}

func (l lagging) Get(ctx context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	now := l.run.at(key.Name, l.process.position)
	if a, ok := ctx.Value(actorKey{}).(*actor); ok {
		text := "nothing"
		if now != nil {
			text = l.run.versionText(now)
		}
		a.saw = append(a.saw, "cache: "+text)
	}
	if now == nil || key.Namespace != l.run.namespace {
		return apierrors.NewNotFound(schema.GroupResource{Group: widgetKind.Group, Resource: "widgets"}, key.Name)
	}
	if into, ok := object.(*unstructured.Unstructured); ok {
		into.Object = now.DeepCopy().Object
		return nil
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(now.Object, object)
}
