package coapply

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
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
	requested map[schema.GroupResource][]form // informers of the manager's cache, as seen by their HTTP requests
	built     map[schema.GroupKind][]form     // informers of the manager's cache that Builders will start
	others    map[schema.GroupKind][]informer // informers of additional caches, see AlsoWatched
	resources map[schema.GroupKind]schema.GroupResource
}

// form identifies an informer of a kind by API version and representation. An object has the same resourceVersion in
// every form, so the resourceVersions in different informers of a kind can be compared.
type form struct {
	version string
	as      representation
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

// informer is an informer of an additional cache (see AlsoWatched). It has the form of the cached objects and the
// cache.
type informer struct {
	form

	from client.Reader
}

func newWatched() *watched {
	return &watched{
		requested: map[schema.GroupResource][]form{}, built: map[schema.GroupKind][]form{},
		others: map[schema.GroupKind][]informer{}, resources: map[schema.GroupKind]schema.GroupResource{},
	}
}

// AlsoWatched is an option of New for an additional cache whose events also trigger reconciles in this process. The
// option registers the cache for the kind of the given object. The manager's own cache needs no such option. The
// object must have the Go type that the additional cache uses for the kind: *metav1.PartialObjectMetadata,
// *unstructured.Unstructured or a type of the manager's scheme.
//
// Each apply to an object of the kind then also reads the object from the additional cache. If that cache has a
// newer version than the manager's cache, or does not have the object, the object is read from the API server.
func AlsoWatched(cache client.Reader, object client.Object) Option {
	return func(rt *Runtime) error {
		kind, err := rt.mgr.GetClient().GroupVersionKindFor(object)
		if err == nil {
			of := kind.GroupKind()
			rt.watched.others[of] = append(rt.watched.others[of], informer{form{kind.Version, representationOf(object)}, cache})
		}
		return err
	}
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
	resource, ok := resourceIn(request.URL.Path)
	if !ok {
		return
	}
	as := typed
	switch accept := request.Header.Get("Accept"); {
	case strings.Contains(accept, "as=PartialObjectMetadata"):
		as = metadataOnly
	case strings.HasPrefix(accept, "application/json") && !strings.Contains(accept, "*/*"): // as client-go's dynamic client sends it
		as = asUnstructured
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	of := resource.GroupResource()
	w.requested[of] = with(w.requested[of], form{resource.Version, as})
}

func with(all []form, one form) []form {
	if slices.Contains(all, one) {
		return all
	}
	return append(slices.Clip(all), one)
}

// resourceIn returns the resource in the URL path of a list or watch. The path ends in
// /api/VERSION/[namespaces/NAME/]RESOURCE, or /apis/GROUP/VERSION/[namespaces/NAME/]RESOURCE.
func resourceIn(path string) (schema.GroupVersionResource, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	at := slices.IndexFunc(parts, func(part string) bool { return part == "api" || part == "apis" })
	if at < 0 {
		return schema.GroupVersionResource{}, false
	}
	group, rest := "", parts[at+1:]
	if parts[at] == "apis" && len(rest) > 0 {
		group, rest = rest[0], rest[1:]
	}
	if len(rest) == 4 && rest[1] == "namespaces" {
		rest = []string{rest[0], rest[3]}
	}
	if len(rest) != 2 {
		return schema.GroupVersionResource{}, false
	}
	return schema.GroupVersionResource{Group: group, Version: rest[0], Resource: rest[1]}, true
}

// informers returns the known informers of a kind. For the manager's cache, the results are the informers that have
// sent requests and the informers that Builders have registered. The last result has the informers of additional
// caches.
func (rt *Runtime) informers(kind schema.GroupKind, resource schema.GroupResource) (requested, built []form, others []informer) {
	rt.watched.mu.RLock()
	defer rt.watched.mu.RUnlock()
	return rt.watched.requested[resource], rt.watched.built[kind], rt.watched.others[kind]
}

// resourceOf returns the resource of a kind, such as deployments.apps for Deployment. For a kind that the API server
// does not have it returns an empty resource: no informer can watch such a kind.
func (rt *Runtime) resourceOf(kind schema.GroupVersionKind) (schema.GroupResource, error) {
	w := rt.watched
	w.mu.RLock()
	resource, known := w.resources[kind.GroupKind()]
	w.mu.RUnlock()
	if known {
		return resource, nil
	}
	mapping, err := rt.mgr.GetClient().RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return schema.GroupResource{}, nil
	}
	if err != nil {
		return schema.GroupResource{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.resources[kind.GroupKind()] = mapping.Resource.GroupResource()
	return mapping.Resource.GroupResource(), nil
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
	if rt.isBehind(ctx, kind, key, representationOf(object), version) {
		return rt.getLive(ctx, kind, key, object)
	}
	return err
}

// isBehind reports whether a read returned an older version of an object than an informer of the kind may have. version
// is the resourceVersion that the read returned, or "" if the read did not find the object.
func (rt *Runtime) isBehind(ctx context.Context, kind schema.GroupVersionKind, key client.ObjectKey, as representation, version string) bool {
	resource, err := rt.resourceOf(kind)
	if err != nil {
		return true
	}
	read := form{kind.Version, as}
	isNewer := func(other informer) bool { return !rt.hasNothingNewer(ctx, other, kind.GroupKind(), key, version) }
	isNewerIn := func(other form) bool { return other != read && isNewer(informer{other, rt.mgr.GetCache()}) }
	requested, built, others := rt.informers(kind.GroupKind(), resource)
	return slices.ContainsFunc(requested, isNewerIn) || slices.ContainsFunc(built, isNewerIn) || slices.ContainsFunc(others, isNewer)
}

// getLive reads an object from the API server. It first clears the given object, because an object that was read
// from a cache may share maps with the cache.
func (rt *Runtime) getLive(ctx context.Context, kind schema.GroupVersionKind, key client.ObjectKey, object client.Object) error {
	reflect.ValueOf(object).Elem().SetZero()
	object.GetObjectKind().SetGroupVersionKind(kind)
	return rt.mgr.GetAPIReader().Get(ctx, key, object)
}

// hasNothingNewer reports whether the given informer certainly has no newer version of an object than the given
// resourceVersion. An empty resourceVersion means that the object was not found. The result is false if the informer
// cannot be read.
func (rt *Runtime) hasNothingNewer(
	ctx context.Context, other informer, kind schema.GroupKind, key client.ObjectKey, version string,
) bool {
	object, err := rt.emptyAs(other.as, kind.WithVersion(other.version))
	if err != nil {
		return false
	}
	err = other.from.Get(ctx, key, object, &client.GetOptions{UnsafeDisableDeepCopy: new(true)})
	if apierrors.IsNotFound(err) {
		return version == ""
	}
	compared, invalid := resourceversion.CompareResourceVersion(version, object.GetResourceVersion())
	return err == nil && invalid == nil && compared >= 0
}

func (rt *Runtime) emptyAs(as representation, kind schema.GroupVersionKind) (client.Object, error) {
	var empty runtime.Object = &unstructured.Unstructured{}
	switch as {
	case metadataOnly:
		empty = &metav1.PartialObjectMetadata{}
	case typed:
		known, err := rt.mgr.GetScheme().New(kind)
		if err != nil {
			return nil, err
		}
		empty = known
	}
	empty.GetObjectKind().SetGroupVersionKind(kind)
	object, ok := empty.(client.Object)
	if !ok {
		return nil, fmt.Errorf("the Go type %T, which the scheme has for the kind %v, is not a client.Object", empty, kind)
	}
	return object, nil
}

// watches registers an informer of the manager's cache that a Builder will start.
func (rt *Runtime) watches(object client.Object, as representation) error {
	kind, err := rt.mgr.GetClient().GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	rt.watched.mu.Lock()
	defer rt.watched.mu.Unlock()
	of := kind.GroupKind()
	rt.watched.built[of] = with(rt.watched.built[of], form{kind.Version, as})
	return nil
}
