package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
)

// Belongs reports whether the parent of the given kind and name is the controller of an object. For an object without a
// controller, it returns the result of Orphaned with the given label. The parent's uid is not compared, so an object of a
// deleted parent with the same name belongs until it is garbage collected. For an empty name, Belongs returns false.
func Belongs(object metav1.Object, kind, name, label string) bool {
	owner := metav1.GetControllerOf(object)
	if owner == nil {
		return Orphaned(object, label, name)
	}
	return name != "" && owner.Kind == kind && owner.Name == name && owner.APIVersion == v1alpha1.SchemeGroupVersion.String()
}

// Orphaned reports whether an object has lost its owner reference to the parent called name. It returns true if the
// object has no controller, the value of the given label is name, and a field manager of the platform has applied the
// object. The label alone is no proof: any client may set it. config/admission reserves these field managers.
func Orphaned(object metav1.Object, label, name string) bool {
	return name != "" && metav1.GetControllerOf(object) == nil && object.GetLabels()[label] == name && applied(object)
}

func applied(object metav1.Object) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Operation == metav1.ManagedFieldsOperationApply && strings.HasPrefix(entry.Manager, fieldmanagers.Prefix)
	})
}

// OwnedBy returns a controller owner reference to the given parent. The given kind is one of the platform's own kinds.
func OwnedBy(kind string, parent metav1.Object) *metav1ac.OwnerReferenceApplyConfiguration {
	return coapply.OwnedBy(parent, v1alpha1.SchemeGroupVersion.WithKind(kind))
}

// Delete deletes the given object if the object still has the same uid. It also succeeds if the object no longer
// exists. After a 404 response, a live read checks that the object really does not exist.
func Delete(ctx context.Context, c client.Client, live client.Reader, object client.Object, options ...client.DeleteOption) error {
	uid := object.GetUID()
	_, err := remove(ctx, c, live, object, append(options, client.Preconditions{UID: &uid})...)
	return err
}

// DeleteAsRead deletes the given object if its uid and resourceVersion have not changed. If they have changed, or if
// the object no longer exists, asRead is false and err is nil.
func DeleteAsRead(ctx context.Context, c client.Client, live client.Reader, object client.Object) (asRead bool, err error) {
	uid, version := object.GetUID(), object.GetResourceVersion()
	return remove(ctx, c, live, object, client.Preconditions{UID: &uid, ResourceVersion: &version})
}

// remove deletes an object. If the object no longer exists, or a precondition on its uid or resourceVersion fails,
// found is false and err is nil.
//
// The delete disables read-your-writes of the client, for two reasons. First, later reads would wait until the cache has
// the resourceVersion of the delete. The cache never gets this resourceVersion if the watch ends and the next list no
// longer contains the object. Second, the client would start watches of uncached kinds, which RBAC may forbid. Without
// read-your-writes, the cache may contain the deleted object for a while. A second delete of this object succeeds.
func remove(ctx context.Context, c client.Client, live client.Reader, object client.Object, options ...client.DeleteOption) (found bool, err error) {
	kind, _ := c.GroupVersionKindFor(object)
	ref := apply.ObjectRef{GroupVersionKind: kind, NamespacedName: client.ObjectKeyFromObject(object), UID: object.GetUID()}
	err = c.Delete(ctx, object, append(options, client.DisableReadYourWritesConsistency)...)
	err = apply.CheckNotFound(ctx, live, ref, "", err)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), errors.Is(err, apply.ErrUIDMismatch):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("deleting %s %s: %w", kind.Kind, object.GetName(), err)
	}
	return true, nil
}
