package coapply

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watched records, for each kind, the informers whose events may trigger reconciles. controller-runtime has one
// informer for each API version of a kind and each representation: typed, unstructured or metadata only. Each
// informer has its own watch, so one informer may have an older version of an object than another informer.
//
// A cached object proves a no-op only if no other informer of the kind has a newer version. Suppose that the event
// of a metadata-only watch triggers a reconcile while the typed informer still has the old object. If the old object
// proved that the apply is a no-op, the change that caused the event would never be corrected, because no further
// event comes.
type watched struct {
	mu        sync.RWMutex
	requested map[schema.GroupResource][]informer // informers of the manager's cache, as seen by their HTTP requests
	named     map[schema.GroupKind][]informer     // informers that Builders will start, and those of AlsoWatched
	resources sync.Map                            // the schema.GroupResource of each schema.GroupKind that was looked up
}

// informer identifies an informer of a kind. An object has the same resourceVersion in every API version and
// representation, so the resourceVersions in different informers of a kind can be compared.
type informer struct {
	version string
	as      representation
	cache   client.Reader // nil for the manager's cache
}

// representation is how an informer represents objects in Go: typed, unstructured or metadata only.
type representation int

const (
	typed representation = iota
	asUnstructured
	metadataOnly
)

func representationOf(object runtime.Object) representation {
	switch object.(type) {
	case *metav1.PartialObjectMetadata:
		return metadataOnly
	case runtime.Unstructured:
		return asUnstructured
	}
	return typed
}

func newWatched() *watched {
	return &watched{requested: map[schema.GroupResource][]informer{}, named: map[schema.GroupKind][]informer{}}
}

// AlsoWatched is an option of New for an additional cache whose events also trigger reconciles in this process. The
// option registers the cache for the kind of the given object. The manager's own cache needs no such option. The
// object must have the Go type that the additional cache uses for the kind: *metav1.PartialObjectMetadata,
// *unstructured.Unstructured or a type of the manager's scheme.
//
// Each apply to an object of the kind then also reads the object from the additional cache. If that cache has a
// newer version than the manager's cache, or does not have the object, the object is read from the API server.
func AlsoWatched(cache client.Reader, object client.Object) Option {
	return func(rt *Runtime) error { return rt.watches(object, representationOf(object), cache) }
}

// watches adds an informer whose events trigger reconciles. cache is nil for an informer of the manager's cache.
func (rt *Runtime) watches(object client.Object, as representation, cache client.Reader) error {
	kind, err := rt.mgr.GetClient().GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	rt.watched.mu.Lock()
	defer rt.watched.mu.Unlock()
	of := kind.GroupKind()
	rt.watched.named[of] = append(rt.watched.named[of], informer{kind.Version, as, cache})
	return nil
}

// watchRecorder is an HTTP transport that records the informers that the manager's cache starts. It recognises an
// informer by its requests.
type watchRecorder struct {
	next    http.RoundTripper
	watched *watched
}

func (r watchRecorder) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodGet {
		r.watched.see(request)
	}
	return r.next.RoundTrip(request)
}

// WrappedRoundTripper returns the wrapped transport. client-go looks for this method.
func (r watchRecorder) WrappedRoundTripper() http.RoundTripper { return r.next }

// see records the informer that sent a request. An informer starts with a list that has a resourceVersion in its
// query, and then sends a watch. Other requests are not recorded: a list by mgr.GetAPIReader() has no
// resourceVersion.
func (w *watched) see(request *http.Request) {
	query := request.URL.RawQuery
	if !strings.Contains(query, "watch=") && !strings.Contains(query, "resourceVersion=") {
		return
	}
	path := listPath.FindStringSubmatch(request.URL.Path)
	if path == nil {
		return
	}
	of, one := schema.GroupResource{Group: path[1], Resource: path[3]}, informer{version: path[2]}
	switch accept := request.Header.Get("Accept"); {
	case strings.Contains(accept, "as=PartialObjectMetadata"):
		one.as = metadataOnly
	case strings.HasPrefix(accept, "application/json") && !strings.Contains(accept, "*/*"): // as client-go's dynamic client sends it
		one.as = asUnstructured
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.requested[of], one) {
		w.requested[of] = append(w.requested[of], one)
	}
}

// listPath matches the URL path of a list or watch. Its capture groups are the API group, the version and the resource.
var listPath = regexp.MustCompile(`/(?:api|apis/([^/]+))/([^/]+)/(?:namespaces/[^/]+/)?([^/]+)/?$`)

// resourceOf returns the resource of a kind, such as deployments.apps for Deployment. If the API server does not have
// the kind, resourceOf returns an empty resource: no informer can watch such a kind.
func (rt *Runtime) resourceOf(kind schema.GroupVersionKind) (schema.GroupResource, error) {
	if resource, known := rt.watched.resources.Load(kind.GroupKind()); known {
		return resource.(schema.GroupResource), nil
	}
	mapping, err := rt.mgr.GetClient().RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	switch {
	case meta.IsNoMatchError(err):
		return schema.GroupResource{}, nil
	case err != nil:
		return schema.GroupResource{}, err
	}
	resource := mapping.Resource.GroupResource()
	rt.watched.resources.Store(kind.GroupKind(), resource)
	return resource, nil
}

// get reads an object with the manager's client. If a different informer of the same kind may have a newer version
// of the object, get reads the object from the API server instead.
func (rt *Runtime) get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	err := rt.mgr.GetClient().Get(ctx, key, object, opts...)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	kind, kindErr := rt.mgr.GetClient().GroupVersionKindFor(object)
	if kindErr != nil {
		return kindErr
	}
	version := ""
	if err == nil {
		version = object.GetResourceVersion()
	}
	if !rt.isBehind(ctx, kind, key, representationOf(object), version) {
		return err
	}
	reflect.ValueOf(object).Elem().SetZero() // because a cached object may share its maps with the cache
	object.GetObjectKind().SetGroupVersionKind(kind)
	return rt.mgr.GetAPIReader().Get(ctx, key, object)
}

// isBehind reports whether another informer of the kind may have a newer version of an object than a read has returned.
// version is the resourceVersion that the read returned, or "" if the read did not find the object.
func (rt *Runtime) isBehind(ctx context.Context, kind schema.GroupVersionKind, key client.ObjectKey, as representation, version string) bool {
	resource, err := rt.resourceOf(kind)
	if err != nil {
		return true
	}
	rt.watched.mu.RLock()
	requested, named := rt.watched.requested[resource], rt.watched.named[kind.GroupKind()]
	rt.watched.mu.RUnlock()
	read := informer{version: kind.Version, as: as}
	isNewer := func(other informer) bool {
		return other != read && !rt.hasNothingNewer(ctx, other, kind.GroupKind(), key, version)
	}
	return slices.ContainsFunc(requested, isNewer) || slices.ContainsFunc(named, isNewer)
}

// hasNothingNewer reports whether the given informer certainly has no newer version of an object than the given
// resourceVersion. An empty resourceVersion means that the object was not found. The result is false if the informer
// cannot be read.
func (rt *Runtime) hasNothingNewer(
	ctx context.Context, other informer, kind schema.GroupKind, key client.ObjectKey, version string,
) bool {
	object := rt.emptyAs(other.as, kind.WithVersion(other.version))
	if object == nil {
		return false
	}
	from := cmp.Or(other.cache, client.Reader(rt.mgr.GetCache()))
	err := from.Get(ctx, key, object, &client.GetOptions{UnsafeDisableDeepCopy: new(true)})
	if apierrors.IsNotFound(err) {
		return version == ""
	}
	compared, invalid := resourceversion.CompareResourceVersion(version, object.GetResourceVersion())
	return err == nil && invalid == nil && compared >= 0
}

// emptyAs returns an empty object of a kind, or nil if the scheme has no usable Go type for the kind.
func (rt *Runtime) emptyAs(as representation, kind schema.GroupVersionKind) client.Object {
	var empty client.Object
	switch as {
	case metadataOnly:
		empty = &metav1.PartialObjectMetadata{}
	case asUnstructured:
		empty = &unstructured.Unstructured{}
	default:
		object, _ := rt.mgr.GetScheme().New(kind)
		empty, _ = object.(client.Object)
	}
	if empty != nil {
		empty.GetObjectKind().SetGroupVersionKind(kind)
	}
	return empty
}
