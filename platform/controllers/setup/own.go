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

// Belongs reports whether an object is controlled by our kind's object of a name, or is Orphaned
// by it. It goes by the name, not the uid: an object of the parent that had the name before is
// about to be collected. Without a name there is no such parent.
func Belongs(object metav1.Object, kind, name, label string) bool {
	owner := metav1.GetControllerOf(object)
	if owner == nil {
		return Orphaned(object, label, name)
	}
	return name != "" && owner.Kind == kind && owner.Name == name && owner.APIVersion == v1alpha1.SchemeGroupVersion.String()
}

// Orphaned reports whether an object has no controller, the label with its parent's name, and
// fields that we applied: somebody has removed its owner reference. The label alone is no
// proof, as anybody may set it; config/admission reserves our field managers' names.
func Orphaned(object metav1.Object, label, name string) bool {
	return name != "" && metav1.GetControllerOf(object) == nil && object.GetLabels()[label] == name && applied(object)
}

func applied(object metav1.Object) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Operation == metav1.ManagedFieldsOperationApply && strings.HasPrefix(entry.Manager, fieldmanagers.Prefix)
	})
}

// OwnedBy returns an owner reference that makes a parent of ours the controller of an object.
func OwnedBy(kind string, parent metav1.Object) *metav1ac.OwnerReferenceApplyConfiguration {
	return coapply.OwnedBy(parent, v1alpha1.SchemeGroupVersion.WithKind(kind))
}

// Delete deletes an object by its uid. It also succeeds if the object no longer exists, or if another object now has
// the name. After a 404, a live read checks whether the object exists.
func Delete(ctx context.Context, c client.Client, live client.Reader, object client.Object, options ...client.DeleteOption) error {
	uid := object.GetUID()
	_, err := remove(ctx, c, live, object, append(options, client.Preconditions{UID: &uid})...)
	return err
}

// DeleteAsRead deletes an object if nobody has written to it since it was read, and reports whether that is so.
func DeleteAsRead(ctx context.Context, c client.Client, live client.Reader, object client.Object) (asRead bool, err error) {
	uid, version := object.GetUID(), object.GetResourceVersion()
	return remove(ctx, c, live, object, client.Preconditions{UID: &uid, ResourceVersion: &version})
}

// remove takes the 409 with which a delete answers a uid or a resourceVersion that does not match for no error.
//
// No read waits for the delete. With read-your-writes the client would wait for its resourceVersion, which it never sees
// if the watch ends and the next list shows nothing of the object any more; and it would begin to watch a kind that is
// not cached, which the manager may have no right to. So the cache may have the object for a while yet, and a reconciler
// that deletes it again finds it gone.
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
