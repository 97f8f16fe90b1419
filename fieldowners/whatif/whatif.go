// Package whatif computes what a server-side apply would do to an object that was read, without a request.
//
// It runs the code that the API server itself runs for an apply, the FieldManager of k8s.io/apimachinery, with the
// schemas that the API server publishes. So the conflicts are exactly those of the API server, with its own strings. The
// API server may also refuse the configuration, set defaults, store a value in another form, or change the object by
// admission. So the stored values may differ from those of the result.
package whatif

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// Apply is a server-side apply of a configuration by a field manager. Subresource is "" or "status".
type Apply struct {
	FieldManager string
	Subresource  string
	Config       map[string]any
	Force        bool // take the fields in conflict, so that there are no conflicts
}

// To computes an apply to an object. The object must be as the API server returned it, with all managed fields, and in
// the apiVersion of the configuration. The schemas are those of this apiVersion.
//
// If there are conflicts, the result conflicts has the causes of the API server's response. Otherwise the result after
// is the object with the configuration merged into it, and with the new managed fields. If the apply changes the
// object, the time in the manager's entry is from the local clock.
//
// The error says why the result is not known:
//   - an owner of the object uses another apiVersion, and only the API server can convert the object;
//   - the object has no managed fields: either a cache removed them, or the API server first makes before-first-apply
//     the owner of all fields;
//   - the API server may drop a part of the configuration: a status that is applied to the object itself, or a field
//     outside of the status, such as a label or kubectl's annotation, that is applied through the subresource status.
func (a Apply) To(object *unstructured.Unstructured, schemas managedfields.TypeConverter) (after *unstructured.Unstructured, conflicts []metav1.StatusCause, err error) {
	config := &unstructured.Unstructured{Object: a.Config}
	if err := a.check(object, config); err != nil {
		return nil, nil, err
	}
	server, err := managedfields.NewDefaultCRDFieldManager(schemas, sameVersion{}, noDefaults{}, noDefaults{},
		config.GroupVersionKind(), config.GroupVersionKind().GroupVersion(), a.Subresource, nil)
	if err != nil {
		return nil, nil, err
	}
	applied, err := server.Apply(object.DeepCopy(), config.DeepCopy(), a.FieldManager, a.Force)
	if refused := apierrors.APIStatus(nil); errors.As(err, &refused) && apierrors.IsConflict(err) {
		return nil, refused.Status().Details.Causes, nil
	}
	after, _ = applied.(*unstructured.Unstructured) // nil after an error
	return after, nil, err
}

const status = "status"

func (a Apply) check(object, config *unstructured.Unstructured) error {
	switch _, hasStatus := a.Config[status]; {
	case object.GetAPIVersion() != config.GetAPIVersion():
		return fmt.Errorf("the object was read as %s, but the apiVersion of the configuration is %s", object.GetAPIVersion(), config.GetAPIVersion())
	case len(object.GetManagedFields()) == 0:
		return errors.New("the object has no managed fields, so an apply would add the managed fields entry before-first-apply, which owns all fields of the object")
	case a.Subresource == "" && hasStatus:
		return errors.New("the configuration sets a status, which the API server may drop unless it is applied through the subresource status")
	case a.Subresource != "" && a.Subresource != status:
		return fmt.Errorf("an apply through the subresource %s cannot be computed: only the object itself and the subresource status are supported", a.Subresource)
	case a.Subresource == status && a.FieldManager == "kubectl" && object.GetAnnotations()[corev1.LastAppliedConfigAnnotation] != "":
		return fmt.Errorf("the API server may drop the annotation %s, which an apply by kubectl changes", corev1.LastAppliedConfigAnnotation)
	}
	for _, entry := range object.GetManagedFields() {
		if entry.APIVersion != object.GetAPIVersion() {
			return fmt.Errorf("%s owns fields in version %s, which only the API server can convert", entry.Manager, entry.APIVersion)
		}
	}
	through := []string{"apiVersion", "kind", "metadata", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion", status}
	names := slices.Collect(maps.Keys(a.Config))
	metadata, _ := a.Config["metadata"].(map[string]any)
	for name := range metadata {
		names = append(names, "metadata."+name)
	}
	for _, name := range slices.Sorted(slices.Values(names)) { // so that the error always names the same field
		if a.Subresource == status && !slices.Contains(through, name) {
			return fmt.Errorf("the API server may drop the field %s, which is applied through the subresource status", name)
		}
	}
	return nil
}

// sameVersion is a converter that returns each object unchanged, and an error if the target version differs.
type sameVersion struct{ runtime.ObjectConvertor }

func (sameVersion) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	if _, same := to.KindForGroupVersionKinds([]schema.GroupVersionKind{in.GetObjectKind().GroupVersionKind()}); !same {
		return nil, fmt.Errorf("only the API server can convert %v", in.GetObjectKind().GroupVersionKind())
	}
	return in, nil
}

// noDefaults sets no defaults and creates no objects. The FieldManager needs an empty object only to apply to an object
// without managed fields, and Apply.check rejects such an object.
type noDefaults struct{}

func (noDefaults) Default(runtime.Object) {}

func (noDefaults) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	return nil, fmt.Errorf("only the API server can compute an apply to a %v without managed fields", kind)
}
