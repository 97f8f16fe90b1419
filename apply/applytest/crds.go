package applytest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	restful "github.com/emicklei/go-restful/v3"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	informers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions/apiextensions/v1"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/finalizer"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/spec3"
)

// crds serves CustomResourceDefinitions and custom resources, with the code of k8s.io/apiextensions-apiserver. After
// each write of a CRD, sync does the work of the API server's controllers for CRDs.
type crds struct {
	server  *Server
	store   *customresourcedefinition.REST
	status  *customresourcedefinition.StatusREST
	handler customResources
	known   cache.Indexer
	events  cache.ResourceEventHandler // sync reports each CRD to it, for the handler

	mu     sync.Mutex
	served map[schema.GroupVersion][]*apiextensionsv1.CustomResourceDefinition
}

// customResources is the handler of k8s.io/apiextensions-apiserver for custom resources.
type customResources interface {
	http.Handler
	GetCustomResourceListerCollectionDeleter(crd *apiextensionsv1.CustomResourceDefinition) (finalizer.ListerCollectionDeleter, error)
}

// crdInformer is an informer of CRDs for the handler. It watches nothing: sync puts the CRDs into it.
type crdInformer struct {
	cache.SharedIndexInformer

	crds *crds
}

func (i crdInformer) Informer() cache.SharedIndexInformer { return i }

func (i crdInformer) Lister() listers.CustomResourceDefinitionLister {
	return listers.NewCustomResourceDefinitionLister(i.crds.known)
}

func (i crdInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.crds.events = handler
	return nil, nil
}

var _ informers.CustomResourceDefinitionInformer = crdInformer{}

func (s *Server) installCRDs(container *restful.Container) (err error) {
	builtin, err := builtinOpenAPI()
	if err != nil {
		return err
	}
	c := &crds{server: s, known: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})}
	codec := apiserver.Codecs.LegacyCodec(apiextensionsv1.SchemeGroupVersion)
	if c.store, err = customresourcedefinition.NewREST(apiserver.Scheme, s.storage(codec, "")); err != nil {
		return err
	}
	c.status = customresourcedefinition.NewStatusREST(apiserver.Scheme, c.store)
	storages := map[string]rest.Storage{"customresourcedefinitions": c.store, "customresourcedefinitions/status": c.status}
	if err := s.installGroup(container, apiserver.Scheme, apiserver.Codecs, apiextensionsv1.SchemeGroupVersion, storages); err != nil {
		return err
	}
	c.handler, err = apiserver.NewCustomResourceDefinitionHandler(nil, nil, crdInformer{crds: c}, http.HandlerFunc(s.notServed),
		s.storage(unstructured.UnstructuredJSONScheme, ""), lifecycle{s}, nil, nil, nil, 1, authorizerfactory.NewAlwaysAllowAuthorizer(),
		time.Minute, minRequestTimeout, builtin.schemas, maxRequestBytes)
	s.crds = c
	return err
}

// sync makes the server serve the stored CRDs: it accepts their names, establishes them, and updates discovery and
// OpenAPI. For a deleted CRD, it deletes the custom resources and then removes the CRD's finalizer.
func (c *crds) sync() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx := request.WithNamespace(c.server.ctx, "")
	listed, err := c.store.List(ctx, nil)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for i := range listed.(*apiextensions.CustomResourceDefinitionList).Items {
		crd := &listed.(*apiextensions.CustomResourceDefinitionList).Items[i]
		if slices.Contains(crd.Finalizers, apiextensions.CustomResourceCleanupFinalizer) && !crd.DeletionTimestamp.IsZero() {
			if err := c.finalize(ctx, crd); err != nil {
				return err
			}
			if _, err := c.store.Get(ctx, crd.Name, &metav1.GetOptions{}); apierrors.IsNotFound(err) {
				continue
			}
		}
		known[crd.Name] = true
		if err := c.establish(ctx, crd); err != nil {
			return err
		}
	}
	for _, name := range c.known.ListKeys() {
		if object, _, _ := c.known.GetByKey(name); !known[name] {
			_ = c.known.Delete(object)
			c.events.OnDelete(object)
		}
	}
	c.publish()
	return nil
}

// kinds returns the kinds of all CRDs, each in the version in which its objects are stored.
func (c *crds) kinds() (kinds []schema.GroupVersionKind) {
	for _, object := range c.known.List() {
		crd := object.(*apiextensionsv1.CustomResourceDefinition)
		for _, version := range crd.Spec.Versions {
			if version.Storage && version.Served {
				kinds = append(kinds, schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind})
			}
		}
	}
	return kinds
}

// finalize deletes the custom resources of a deleted CRD, and then removes the CRD's finalizer.
func (c *crds) finalize(ctx context.Context, crd *apiextensions.CustomResourceDefinition) error {
	object, exists, _ := c.known.GetByKey(crd.Name)
	if !exists {
		return nil
	}
	resources, err := c.handler.GetCustomResourceListerCollectionDeleter(object.(*apiextensionsv1.CustomResourceDefinition))
	if err != nil {
		return err
	}
	all, err := resources.List(ctx, nil)
	if err != nil {
		return err
	}
	namespaces := map[string]bool{}
	for _, object := range all.(*unstructured.UnstructuredList).Items {
		namespaces[object.GetNamespace()] = true
	}
	for namespace := range namespaces {
		if _, err := resources.DeleteCollection(request.WithNamespace(ctx, namespace), rest.ValidateAllObjectFunc, nil, nil); err != nil {
			return err
		}
	}
	if left, err := resources.List(ctx, nil); err != nil || apimeta.LenList(left) > 0 {
		return err
	}
	crd = crd.DeepCopy()
	crd.Finalizers = slices.DeleteFunc(crd.Finalizers, func(f string) bool { return f == apiextensions.CustomResourceCleanupFinalizer })
	_, _, err = c.store.Update(ctx, crd.Name, rest.DefaultUpdatedObjectInfo(crd), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	return err
}

func (c *crds) establish(ctx context.Context, crd *apiextensions.CustomResourceDefinition) error {
	now := metav1.Now()
	conditions := []apiextensions.CustomResourceDefinitionCondition{
		{Type: apiextensions.NamesAccepted, Status: apiextensions.ConditionTrue, Reason: "NoConflicts", Message: "no conflicts found", LastTransitionTime: now},
		{Type: apiextensions.Established, Status: apiextensions.ConditionTrue, Reason: "InitialNamesAccepted", Message: "the initial names have been accepted", LastTransitionTime: now},
	}
	if len(crd.Status.Conditions) == 0 {
		established := crd.DeepCopy()
		established.Status.Conditions, established.Status.AcceptedNames = conditions, crd.Spec.Names
		object, _, err := c.status.Update(ctx, crd.Name, rest.DefaultUpdatedObjectInfo(established), rest.ValidateAllObjectFunc,
			rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
		if err != nil {
			return err
		}
		crd = object.(*apiextensions.CustomResourceDefinition)
	}
	served := &apiextensionsv1.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(crd, served, nil); err != nil {
		return err
	}
	for i := range served.Status.Conditions {
		served.Status.Conditions[i].LastTransitionTime.Time = time.Time{} // otherwise the handler would delay creates for some seconds, as for a new CRD
	}
	before, exists, _ := c.known.GetByKey(crd.Name)
	switch {
	case !exists:
		_ = c.known.Add(served)
		c.events.OnAdd(served, false)
	case before.(*apiextensionsv1.CustomResourceDefinition).ResourceVersion != served.ResourceVersion:
		_ = c.known.Update(served)
		c.events.OnUpdate(before, served)
	}
	return nil
}

// publish makes discovery and OpenAPI contain exactly the CRDs that the server now serves.
func (c *crds) publish() {
	before := c.served
	c.served = map[schema.GroupVersion][]*apiextensionsv1.CustomResourceDefinition{}
	for _, object := range c.known.List() {
		crd := object.(*apiextensionsv1.CustomResourceDefinition)
		for _, version := range crd.Spec.Versions {
			if version.Served {
				at := schema.GroupVersion{Group: crd.Spec.Group, Version: version.Name}
				c.served[at] = append(c.served[at], crd)
			}
		}
	}
	for at := range before {
		if c.served[at] == nil {
			c.server.openapi.DeleteGroupVersion("apis/" + at.String())
			c.server.groups.RemoveGroup(at.Group) // added again below if another version of the group is served
		}
	}
	for at, crds := range c.served {
		c.server.groups.AddGroup(c.group(at.Group))
		c.server.openapi.UpdateGroupVersionLazy("apis/"+at.String(), cached.Once(cached.Func(func() (*spec3.OpenAPI, string, error) {
			return openapiOf(crds, at.Version)
		})))
	}
}

// openapiOf returns the OpenAPI document of one group and version, made from the CRDs of the group.
func openapiOf(crds []*apiextensionsv1.CustomResourceDefinition, version string) (*spec3.OpenAPI, string, error) {
	var documents []*spec3.OpenAPI
	etag := ""
	for _, crd := range crds {
		document, err := builder.BuildOpenAPIV3(crd, version, builder.Options{IncludeSelectableFields: true})
		if err != nil {
			return nil, "", err
		}
		documents, etag = append(documents, document), etag+crd.Name+crd.ResourceVersion
	}
	merged, err := builder.MergeSpecsV3(documents...)
	return merged, etag, err
}

// group returns the discovery document of a group of custom resources. The preferred version is the latest one in
// Kubernetes' order of versions.
func (c *crds) group(name string) metav1.APIGroup {
	group := metav1.APIGroup{Name: name}
	for at := range c.served {
		if at.Group == name {
			group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: at.String(), Version: at.Version})
		}
	}
	slices.SortFunc(group.Versions, func(a, b metav1.GroupVersionForDiscovery) int {
		return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
	})
	if len(group.Versions) > 0 {
		group.PreferredVersion = group.Versions[0]
	}
	return group
}

// resources returns the resources in the discovery document of a group and version.
func (c *crds) resources(at schema.GroupVersion) (resources []metav1.APIResource) {
	for _, crd := range c.served[at] {
		names, namespaced := crd.Status.AcceptedNames, crd.Spec.Scope == apiextensionsv1.NamespaceScoped
		resources = append(resources, metav1.APIResource{
			Name: names.Plural, SingularName: names.Singular, Namespaced: namespaced, Kind: names.Kind, ShortNames: names.ShortNames, Categories: names.Categories,
			Verbs: metav1.Verbs{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"},
		})
		subresources, err := apihelpers.GetSubresourcesForVersion(crd, at.Version)
		if err != nil || subresources == nil {
			continue
		}
		verbs := metav1.Verbs{"get", "patch", "update"}
		if subresources.Status != nil {
			resources = append(resources, metav1.APIResource{Name: names.Plural + "/status", Namespaced: namespaced, Kind: names.Kind, Verbs: verbs})
		}
		if subresources.Scale != nil {
			resources = append(resources, metav1.APIResource{
				Name: names.Plural + "/scale", Namespaced: namespaced, Group: "autoscaling", Version: "v1", Kind: "Scale", Verbs: verbs,
			})
		}
	}
	return resources
}

// ServeHTTP serves the custom resources, and the discovery documents of their groups and versions.
func (c *crds) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if info, _ := request.RequestInfoFrom(req.Context()); info.IsResourceRequest {
		c.handler.ServeHTTP(w, req)
		return
	}
	c.mu.Lock()
	group, version, _ := strings.Cut(strings.Trim(strings.TrimPrefix(req.URL.Path, "/apis/"), "/"), "/")
	at := schema.GroupVersion{Group: group, Version: version}
	served, resources := c.group(group), c.resources(at)
	c.mu.Unlock()
	switch {
	case version == "" && len(served.Versions) > 0:
		discovery.NewAPIGroupHandler(apiserver.Codecs, served).ServeHTTP(w, req)
	case len(resources) > 0:
		discovery.NewAPIVersionHandler(apiserver.Codecs, at, discovery.APIResourceListerFunc(func() []metav1.APIResource { return resources })).ServeHTTP(w, req)
	default:
		c.server.notServed(w, req)
	}
}
