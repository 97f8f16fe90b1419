package applytest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storeerr "k8s.io/apiserver/pkg/storage/errors"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// standardFinalizers are the finalizers without a domain that the API group core permits.
var standardFinalizers = map[string]bool{"kubernetes": true, metav1.FinalizerOrphanDependents: true, metav1.FinalizerDeleteDependents: true}

func validateMeta(k *kind, object runtime.Object) field.ErrorList {
	name := k.name
	if name == nil {
		name = apivalidation.NameIsDNSSubdomain
	}
	return append(apivalidation.ValidateObjectMetaAccessor(metaOf(object), !k.cluster, name, field.NewPath("metadata")), validateFinalizers(k, object)...)
}

func validateFinalizers(k *kind, object runtime.Object) (wrong field.ErrorList) {
	for i, finalizer := range metaOf(object).GetFinalizers() {
		if !k.anyFinalizer {
			wrong = append(wrong, validateFinalizer(finalizer, field.NewPath("metadata", "finalizers").Index(i))...)
		}
	}
	return wrong
}

func validateFinalizer(name string, path *field.Path) field.ErrorList {
	if !strings.Contains(name, "/") && !standardFinalizers[name] {
		return field.ErrorList{field.Invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")}
	}
	return nil
}

// scaled contains the parts of an object that its scale subresource shows. A write to the scale changes the object
// through the pointer replicas.
type scaled struct {
	replicas *int32
	status   int32
	selector *metav1.LabelSelector
}

func scaleOfDeployment(object runtime.Object) scaled {
	deployment := object.(*appsv1.Deployment)
	if deployment.Spec.Replicas == nil {
		deployment.Spec.Replicas = new(int32)
	}
	return scaled{deployment.Spec.Replicas, deployment.Status.Replicas, deployment.Spec.Selector}
}

// scaleREST serves the subresource scale of a built-in kind, like the ScaleREST of each kind in k8s.io/kubernetes.
type scaleREST struct {
	store   *registry.Store
	kind    *kind
	version schema.GroupVersion
}

func (r *scaleREST) New() runtime.Object { return &autoscalingv1.Scale{} }
func (r *scaleREST) Destroy()            {}

func (r *scaleREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return autoscalingv1.SchemeGroupVersion.WithKind("Scale")
}

func (r *scaleREST) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, object, options)
}

func (r *scaleREST) scaleOf(object runtime.Object) (*autoscalingv1.Scale, error) {
	parts, from := r.kind.scale(object), metaOf(object)
	selector, err := metav1.LabelSelectorAsSelector(parts.selector)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name: from.GetName(), Namespace: from.GetNamespace(), UID: from.GetUID(),
			ResourceVersion: from.GetResourceVersion(), CreationTimestamp: from.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: *parts.replicas},
		Status: autoscalingv1.ScaleStatus{Replicas: parts.status, Selector: selector.String()},
	}, nil
}

func (r *scaleREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	object, err := r.store.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return r.scaleOf(object)
}

func (r *scaleREST) Update(ctx context.Context, name string, object rest.UpdatedObjectInfo, create rest.ValidateObjectFunc,
	update rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	validateCreate := func(ctx context.Context, object runtime.Object) error {
		scale, err := r.scaleOf(object)
		if err != nil {
			return err
		}
		return create(ctx, scale)
	}
	validateUpdate := func(ctx context.Context, object, old runtime.Object) error {
		scale, err := r.scaleOf(object)
		if err != nil {
			return err
		}
		before, err := r.scaleOf(old)
		if err != nil {
			return err
		}
		return update(ctx, scale, before)
	}
	updated, _, err := r.store.Update(ctx, name, &scaledObject{name, object, r}, validateCreate, validateUpdate, false, options)
	if err != nil {
		return nil, false, err
	}
	scale, err := r.scaleOf(updated)
	return scale, false, err
}

// scaledObject computes the changed object for a write to the object's scale (rest.UpdatedObjectInfo).
type scaledObject struct {
	name  string
	scale rest.UpdatedObjectInfo
	rest  *scaleREST
}

func (o *scaledObject) Preconditions() *metav1.Preconditions { return o.scale.Preconditions() }

func (o *scaledObject) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	object := old.DeepCopyObject()
	resource := schema.GroupResource{Group: o.rest.version.Group, Resource: o.rest.kind.resource + "/scale"}
	if metaOf(object).GetResourceVersion() == "" {
		return nil, apierrors.NewNotFound(resource, o.name)
	}
	fields := managedfields.NewScaleHandler(metaOf(object).GetManagedFields(), o.rest.version,
		managedfields.ResourcePathMappings{o.rest.version.String(): fieldpath.MakePathOrDie("spec", "replicas")})
	before, err := o.rest.scaleOf(object)
	if err != nil {
		return nil, err
	}
	if before.ManagedFields, err = fields.ToSubresource(); err != nil {
		return nil, err
	}
	changed, err := o.scale.UpdatedObject(ctx, before)
	if err != nil {
		return nil, err
	}
	scale, ok := changed.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("expected input object type to be Scale, but %T", changed))
	}
	wrong := metav1validation.ValidateManagedFields(scale.GetManagedFields(), field.NewPath("metadata").Child("managedFields"))
	wrong = append(wrong, apivalidation.ValidateNonnegativeField(int64(scale.Spec.Replicas), field.NewPath("spec", "replicas"))...)
	if len(wrong) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: "autoscaling", Kind: "Scale"}, metaOf(object).GetName(), wrong)
	}
	if scale.UID != "" && scale.UID != metaOf(object).GetUID() {
		return nil, apierrors.NewConflict(resource, metaOf(object).GetName(),
			fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", scale.UID, metaOf(object).GetUID()))
	}
	*o.rest.kind.scale(object).replicas = scale.Spec.Replicas
	metaOf(object).SetResourceVersion(scale.ResourceVersion)
	entries, err := fields.ToParent(scale.ManagedFields)
	if err != nil {
		return nil, err
	}
	metaOf(object).SetManagedFields(entries)
	return object, nil
}

// namespaceREST serves Namespaces. A deleted Namespace stays in the phase Terminating until Server.CollectGarbage
// removes its finalizer.
type namespaceREST struct{ *resourceREST }

func (r namespaceREST) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	object, err := r.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	namespace, resource := object.(*corev1.Namespace), corev1.Resource("namespaces")
	if options == nil {
		options = metav1.NewDeleteOptions(0)
	}
	if options.Preconditions == nil {
		options.Preconditions = &metav1.Preconditions{}
	}
	want := options.Preconditions
	failed := func(field string, want, is any) error {
		return apierrors.NewConflict(resource, name, fmt.Errorf("Precondition failed: %s in precondition: %v, %[1]s in object meta: %[3]v", field, want, is))
	}
	switch {
	case want.UID != nil && *want.UID != namespace.UID:
		return nil, false, failed("UID", *want.UID, namespace.UID)
	case want.ResourceVersion != nil && *want.ResourceVersion != namespace.ResourceVersion:
		return nil, false, failed("ResourceVersion", *want.ResourceVersion, namespace.ResourceVersion)
	case namespace.DeletionTimestamp.IsZero():
	case len(namespace.Spec.Finalizers) > 0:
		return namespace, false, nil
	default:
		return r.Store.Delete(ctx, name, validate, options)
	}
	want.UID = &namespace.UID
	key, err := r.KeyFunc(ctx, name)
	if err != nil {
		return nil, false, err
	}
	out := r.NewFunc()
	err = r.Storage.GuaranteedUpdate(ctx, key, out, false, (*storage.Preconditions)(want), storage.SimpleUpdate(func(existing runtime.Object) (runtime.Object, error) {
		if err := validate(ctx, existing); err != nil {
			return nil, err
		}
		namespace := existing.(*corev1.Namespace)
		namespace.DeletionTimestamp = new(metav1.Now())
		namespace.Status.Phase = corev1.NamespaceTerminating
		if policy := options.PropagationPolicy; policy != nil {
			finalizers := slices.DeleteFunc(namespace.Finalizers, func(f string) bool {
				return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
			})
			switch *policy {
			case metav1.DeletePropagationOrphan:
				finalizers = append(finalizers, metav1.FinalizerOrphanDependents)
			case metav1.DeletePropagationForeground:
				finalizers = append(finalizers, metav1.FinalizerDeleteDependents)
			}
			namespace.Finalizers = finalizers
		}
		return namespace, nil
	}), len(options.DryRun) > 0, nil)
	err = storeerr.InterpretGetError(err, resource, name)
	return out, false, storeerr.InterpretUpdateError(err, resource, name)
}

// deletedNamespace reports whether an update of a Namespace completes its deletion, because the Namespace has no
// finalizer any more.
func deletedNamespace(ctx context.Context, key string, object, existing runtime.Object) bool {
	return len(object.(*corev1.Namespace).Spec.Finalizers) == 0 && registry.ShouldDeleteDuringUpdate(ctx, key, object, existing)
}

// lifecycle is an admission plugin. It refuses to create objects in a namespace that does not exist or is terminating,
// and to delete the namespace default.
type lifecycle struct{ server *Server }

func (lifecycle) Handles(admission.Operation) bool { return true }

func (l lifecycle) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetOperation() == admission.Delete && a.GetKind().Kind == "Namespace" && a.GetName() == metav1.NamespaceDefault {
		return apierrors.NewForbidden(a.GetResource().GroupResource(), a.GetName(), errors.New("this namespace may not be deleted"))
	}
	if a.GetOperation() != admission.Create || a.GetNamespace() == "" || a.GetKind().Kind == "Namespace" {
		return nil
	}
	object, err := l.server.namespaces.Get(ctx, a.GetNamespace(), &metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return apierrors.NewNotFound(corev1.Resource("namespaces"), a.GetNamespace()) // not err, which names the resource of the request
	}
	if err != nil {
		return err
	}
	if object.(*corev1.Namespace).Status.Phase != corev1.NamespaceTerminating {
		return nil
	}
	err = admission.NewForbidden(a, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", a.GetNamespace()))
	if status := (*apierrors.StatusError)(nil); errors.As(err, &status) {
		status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{
			Type: corev1.NamespaceTerminatingCause, Message: fmt.Sprintf("namespace %s is being terminated", a.GetNamespace()), Field: "metadata.namespace",
		})
	}
	return err
}
