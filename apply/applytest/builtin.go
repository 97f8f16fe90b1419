package applytest

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"strings"

	restful "github.com/emicklei/go-restful/v3"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// kind describes how the server in memory serves a built-in kind. kube-apiserver has the same information in
// k8s.io/kubernetes, which cannot be imported.
type kind struct {
	object       runtime.Object
	list         runtime.Object
	resource     string
	shortNames   []string
	cluster      bool   // the kind is cluster-scoped
	status       bool   // the kind has the subresource status
	putCreates   bool   // a PUT creates an object that does not exist
	needsVersion bool   // a PUT must have a resourceVersion
	anyFinalizer bool   // a finalizer may have a name without a domain
	prefix       string // the prefix of the keys in etcd; "" if it is the resource

	// prepare completes the object of a create or update before the object is validated. old is nil for a create.
	prepare func(object, old runtime.Object)
	// validate returns the errors in an object, except those in its metadata. old is nil for a create.
	validate func(object, old runtime.Object) field.ErrorList
	// validateStatus returns the errors in the status that a write to the subresource status leaves.
	validateStatus func(object, old runtime.Object) field.ErrorList
	// generation reports whether an update increments the generation of the object. It is nil for a kind without a
	// generation.
	generation func(object, old runtime.Object) bool
	// scale returns the parts of an object that its subresource scale shows. It is nil for a kind without this
	// subresource.
	scale func(object runtime.Object) scaled
	// name validates the name of an object. If it is nil, the name must be a DNS subdomain.
	name func(name string, prefix bool) []string
}

// builtinScheme contains the Go types of the built-in kinds. The same Go types also serve as the internal kinds.
// (kube-apiserver has separate Go types with the same content for the internal kinds.)
var builtinScheme = runtime.NewScheme()

var builtinCodecs = serializer.NewCodecFactory(builtinScheme)

func init() {
	if err := clientgoscheme.AddToScheme(builtinScheme); err != nil {
		panic(err)
	}
	metav1.AddToGroupVersion(builtinScheme, schema.GroupVersion{Version: "v1"})
	for _, group := range builtinGroups {
		internal := schema.GroupVersion{Group: group.version.Group, Version: runtime.APIVersionInternal}
		for _, k := range group.kinds {
			builtinScheme.AddKnownTypes(internal, k.object, k.list)
		}
	}
	scale := schema.GroupVersion{Group: "autoscaling", Version: runtime.APIVersionInternal}
	builtinScheme.AddKnownTypes(scale, &autoscalingv1.Scale{})
	addDefaults(builtinScheme)
}

// builtinGroup lists the built-in kinds that the server serves in one version of an API group.
type builtinGroup struct {
	version schema.GroupVersion
	kinds   []*kind
}

func (s *Server) installBuiltin(container *restful.Container) error {
	for _, group := range builtinGroups {
		storages := map[string]rest.Storage{}
		for _, k := range group.kinds {
			if err := s.store(group.version, k, storages); err != nil {
				return fmt.Errorf("%s: %w", k.resource, err)
			}
		}
		if err := s.installGroup(container, builtinScheme, builtinCodecs, group.version, storages); err != nil {
			return err
		}
	}
	container.Add(discovery.NewLegacyRootAPIHandler(discovery.DefaultAddresses{}, builtinCodecs, "/api").WebService())
	return nil
}

// installGroup installs the handlers of one version of an API group in the container.
func (s *Server) installGroup(container *restful.Container, scheme *runtime.Scheme, codecs serializer.CodecFactory, at schema.GroupVersion, storages map[string]rest.Storage) error {
	builtin, err := builtinOpenAPI()
	if err != nil {
		return err
	}
	root := "/apis"
	if at.Group == "" {
		root = "/api"
	}
	installed := &endpoints.APIGroupVersion{
		Storage: storages, Root: root, GroupVersion: at,
		OptionsExternalVersion: &schema.GroupVersion{Version: "v1"}, MetaGroupVersion: &schema.GroupVersion{Group: "meta.k8s.io", Version: "v1"},
		ParameterCodec: runtime.NewParameterCodec(scheme), Serializer: codecs,
		Creater: scheme, Convertor: scheme, ConvertabilityChecker: scheme, Defaulter: scheme, Typer: scheme,
		UnsafeConvertor: runtime.UnsafeObjectConvertor(scheme), Namer: runtime.Namer(apimeta.NewAccessor()), TypeConverter: builtin.converter,
		EquivalentResourceRegistry: runtime.NewEquivalentResourceRegistry(),
		Authorizer:                 authorizerfactory.NewAlwaysAllowAuthorizer(), Admit: lifecycle{s},
		MinRequestTimeout: minRequestTimeout, MaxRequestBodyBytes: maxRequestBytes,
	}
	if _, _, err := installed.InstallREST(container); err != nil || at.Group == "" {
		return err
	}
	version := metav1.GroupVersionForDiscovery{GroupVersion: at.String(), Version: at.Version}
	group := metav1.APIGroup{Name: at.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}
	s.groups.AddGroup(group)
	container.Add(discovery.NewAPIGroupHandler(codecs, group).WebService())
	return nil
}

// store adds the storage of a kind, and of its subresources, to the given map.
func (s *Server) store(version schema.GroupVersion, k *kind, storages map[string]rest.Storage) error {
	newStrategy := func() *strategy {
		return &strategy{
			kind: k, version: version, ObjectTyper: builtinScheme, NameGenerator: names.SimpleNameGenerator,
		}
	}
	main := newStrategy()
	resource := schema.GroupResource{Group: version.Group, Resource: k.resource}
	store := &genericregistry.Store{
		NewFunc: func() runtime.Object { return k.object.DeepCopyObject() }, NewListFunc: func() runtime.Object { return k.list.DeepCopyObject() },
		DefaultQualifiedResource: resource, SingularQualifiedResource: schema.GroupResource{Group: version.Group, Resource: strings.ToLower(kindOf(k.object))},
		CreateStrategy: main, UpdateStrategy: main, DeleteStrategy: main, ResetFieldsStrategy: main,
		TableConvertor: rest.NewDefaultTableConvertor(resource),
	}
	protobuf, _ := runtime.SerializerInfoForMediaType(builtinCodecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	codec := builtinCodecs.CodecForVersions(protobuf.Serializer, builtinCodecs.UniversalDeserializer(), version,
		schema.GroupVersion{Group: version.Group, Version: runtime.APIVersionInternal})
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: s.storage(codec, cmp.Or(k.prefix, k.resource))}); err != nil {
		return err
	}
	storages[k.resource] = &resourceREST{store, k.shortNames}
	if k.resource == "namespaces" {
		storages[k.resource] = namespaceREST{storages[k.resource].(*resourceREST)}
		store.ShouldDeleteDuringUpdate = deletedNamespace
		s.namespaces = store
		finalize := *store
		finalizeStrategy := newStrategy()
		finalizeStrategy.finalize = true
		finalize.UpdateStrategy = finalizeStrategy
		storages["namespaces/finalize"] = &subresourceREST{&finalize}
	}
	if k.status {
		status := *store
		statusStrategy := newStrategy()
		statusStrategy.status = true
		status.UpdateStrategy, status.ResetFieldsStrategy = statusStrategy, statusStrategy
		storages[k.resource+"/status"] = &subresourceREST{&status}
	}
	if k.scale != nil {
		storages[k.resource+"/scale"] = &scaleREST{store, k, version}
	}
	return nil
}

// storage returns the options for a store whose objects are in the server's etcd, under keys with the given prefix. If
// the prefix is "", the keys begin with the group and the resource.
func (s *Server) storage(codec runtime.Codec, prefix string) generic.RESTOptionsGetter {
	return storageOptions{s, codec, prefix}
}

type storageOptions struct {
	server *Server
	codec  runtime.Codec
	prefix string
}

func (o storageOptions) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	config := storagebackend.ConfigForResource{Config: storagebackend.Config{Codec: o.codec, Prefix: "/registry"}, GroupResource: resource}
	return generic.RESTOptions{
		StorageConfig: &config, Decorator: o.server.newStorage, EnableGarbageCollection: true, DeleteCollectionWorkers: 1,
		ResourcePrefix: "/" + cmp.Or(o.prefix, resource.Group+"/"+resource.Resource),
	}, nil
}

// newStorage returns the storage layer of kube-apiserver, on the server's etcd in memory.
func (s *Server) newStorage(config *storagebackend.ConfigForResource, prefix string, _ func(runtime.Object) (string, error),
	newObject, newList func() runtime.Object, _ storage.AttrFunc, _ storage.IndexerFuncs, _ *cache.Indexers,
) (storage.Interface, factory.DestroyFunc, error) {
	versioner := storage.APIObjectVersioner{}
	store, err := etcd3.New(s.etcd.client(s.ctx), nil, config.Codec, newObject, newList, config.Prefix, prefix, config.GroupResource,
		identity.NewEncryptCheckTransformer(), etcd3.LeaseManagerConfig{}, etcd3.NewDefaultDecoder(config.Codec, versioner), versioner)
	return store, func() {}, err
}

// strategy implements the create, update and delete strategies of package rest for a kind. The registry calls a
// strategy before it stores an object. Each endpoint (the object itself, status, finalize) has its own strategy.
type strategy struct {
	*kind
	runtime.ObjectTyper
	names.NameGenerator

	version schema.GroupVersion
	status  bool // for writes to the subresource status

	finalize bool // for writes to the subresource finalize of a Namespace
}

func (s *strategy) NamespaceScoped() bool                                            { return !s.cluster }
func (s *strategy) AllowCreateOnUpdate(context.Context) bool                         { return s.putCreates }
func (s *strategy) AllowUnconditionalUpdate(context.Context) bool                    { return !s.needsVersion }
func (s *strategy) Canonicalize(runtime.Object)                                      {}
func (s *strategy) WarningsOnCreate(context.Context, runtime.Object) []string        { return nil }
func (s *strategy) WarningsOnUpdate(_ context.Context, _, _ runtime.Object) []string { return nil }

// GetResetFields returns the fields that a write to this resource or subresource does not change, so that the writer
// does not own them.
func (s *strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	reset := fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	switch {
	case !s.kind.status:
		return nil
	case s.status && s.version.Group == "apps":
		reset = fieldpath.NewSet(fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("metadata", "labels"))
	case s.status:
		reset = fieldpath.NewSet(fieldpath.MakePathOrDie("spec"))
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(s.version.String()): reset}
}

func (s *strategy) PrepareForCreate(_ context.Context, object runtime.Object) {
	if s.kind.status {
		clearField(object, "Status")
	}
	if s.generation != nil {
		metaOf(object).SetGeneration(1)
	}
	if s.prepare != nil {
		s.prepare(object, nil)
	}
}

func (s *strategy) PrepareForUpdate(_ context.Context, object, old runtime.Object) {
	// The registry recognises a no-op by comparing object with old, so both need the same kind.
	object.GetObjectKind().SetGroupVersionKind(old.GetObjectKind().GroupVersionKind())
	if s.status {
		copyField(object, old, "Spec")
		if s.version.Group == "apps" {
			metaOf(object).SetLabels(metaOf(old).GetLabels())
		}
		return
	}
	if s.kind.status {
		copyField(object, old, "Status")
	}
	if s.prepare != nil && !s.finalize {
		s.prepare(object, old)
	}
	if s.generation != nil && s.generation(object, old) {
		metaOf(object).SetGeneration(metaOf(old).GetGeneration() + 1)
	}
}

func (s *strategy) Validate(_ context.Context, object runtime.Object) field.ErrorList {
	wrong := validateMeta(s.kind, object)
	if s.validate != nil {
		wrong = append(wrong, s.validate(object, nil)...)
	}
	return wrong
}

func (s *strategy) ValidateUpdate(_ context.Context, object, old runtime.Object) field.ErrorList {
	wrong := validateFinalizers(s.kind, object) // the registry itself validates the rest of the metadata
	validate := s.validate
	if s.status {
		validate = s.validateStatus
	}
	if validate != nil {
		wrong = append(wrong, validate(object, old)...)
	}
	return wrong
}

func clearField(object runtime.Object, name string) {
	reflect.ValueOf(object).Elem().FieldByName(name).SetZero()
}

func copyField(object, from runtime.Object, name string) {
	reflect.ValueOf(object).Elem().FieldByName(name).Set(reflect.ValueOf(from).Elem().FieldByName(name))
}

func metaOf(object runtime.Object) metav1.Object { return object.(metav1.Object) }

func kindOf(object runtime.Object) string { return reflect.TypeOf(object).Elem().Name() }

// resourceREST serves the objects of a kind.
type resourceREST struct {
	*genericregistry.Store

	shortNames []string
}

func (r *resourceREST) ShortNames() []string { return r.shortNames }

// subresourceREST serves a subresource whose requests and responses contain the whole object, such as status.
type subresourceREST struct{ store *genericregistry.Store }

func (r *subresourceREST) New() runtime.Object { return r.store.New() }
func (r *subresourceREST) Destroy()            {}

func (r *subresourceREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return r.store.Get(ctx, name, options)
}

func (r *subresourceREST) Update(ctx context.Context, name string, object rest.UpdatedObjectInfo, create rest.ValidateObjectFunc,
	update rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return r.store.Update(ctx, name, object, create, update, false, options)
}

func (r *subresourceREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.store.GetResetFields()
}

func (r *subresourceREST) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, object, options)
}
