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

// Belongs reports whether an object belongs to the parent of this kind and name: either the parent is the object's controller, or the
// object has lost its owner reference to the parent (Orphaned, which uses label). The parent's uid is not compared. An object of a
// deleted parent with the same name is about to be garbage collected, and also belongs. For an empty name Belongs returns false.
func Belongs(object metav1.Object, kind, name, label string) bool {
	owner := metav1.GetControllerOf(object)
	if owner == nil {
		return Orphaned(object, label, name)
	}
	return name != "" && owner.Kind == kind && owner.Name == name && owner.APIVersion == v1alpha1.SchemeGroupVersion.String()
}

// Orphaned reports whether an object has lost its owner reference to the parent called name. It returns true if the object has no
// controller, the value of the given label is the parent's name, and a field manager of the platform has applied the object. The label
// alone is no proof, because any client may set it. The admission policies let no other client use the platform's field managers.
func Orphaned(object metav1.Object, label, name string) bool {
	return name != "" && metav1.GetControllerOf(object) == nil && object.GetLabels()[label] == name && applied(object)
}

func applied(object metav1.Object) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Operation == metav1.ManagedFieldsOperationApply && strings.HasPrefix(entry.Manager, fieldmanagers.Prefix)
	})
}

// OwnedBy returns an owner reference that makes parent, an object of one of the platform's kinds, the controller.
func OwnedBy(kind string, parent metav1.Object) *metav1ac.OwnerReferenceApplyConfiguration {
	return coapply.OwnedBy(parent, v1alpha1.SchemeGroupVersion.WithKind(kind))
}

// Delete deletes the object with this name and uid. It also succeeds if no such object exists.
// After a response 404, a live read checks that the object really does not exist.
func Delete(ctx context.Context, c client.Client, live client.Reader, object client.Object, options ...client.DeleteOption) error {
	uid := object.GetUID()
	_, err := remove(ctx, c, live, object, append(options, client.Preconditions{UID: &uid})...)
	return err
}

// DeleteAsRead deletes an object if it still has the uid and the resourceVersion of the given
// object. Otherwise, or if it no longer exists, it deletes nothing and returns asRead false.
func DeleteAsRead(ctx context.Context, c client.Client, live client.Reader, object client.Object) (asRead bool, err error) {
	uid, version := object.GetUID(), object.GetResourceVersion()
	return remove(ctx, c, live, object, client.Preconditions{UID: &uid, ResourceVersion: &version})
}

// remove deletes an object. If the object no longer exists, or a precondition on its uid or
// resourceVersion fails, found is false and err is nil.
//
// The delete disables read-your-writes of the client. With read-your-writes, a later read would wait until the cache has the
// resourceVersion of the delete. If the watch ends and the next list lacks the object, the cache never gets this resourceVersion. The
// client would also start watches of kinds that are not cached, which RBAC may forbid. Without read-your-writes, the cache may have the
// object for a while after its deletion. A reconciler may then delete the object again, which succeeds.
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
