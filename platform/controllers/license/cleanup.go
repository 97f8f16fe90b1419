package license

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/setup"
	"coapply.dev/platform/controllers/user"
)

type cleanup struct {
	client  client.Client
	live    client.Reader
	applier *apply.Applier
}

// run removes what the License has in the User's Namespace: its fields of the Namespace, while
// the User's stay, and the quota. It finds the Namespace by its name and not by the status,
// which may have been cleared.
func (c cleanup) run(ctx context.Context, license *v1alpha1.License) (done bool, err error) {
	var namespace corev1.Namespace
	err = c.live.Get(ctx, client.ObjectKey{Name: user.NamespaceOf(license.Name)}, &namespace)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("reading the Namespace: %w", err)
	case !user.Owns(&namespace): // the garbage collector deletes the quota, if any, with the License
		return true, nil
	}
	if err := c.deleteQuota(ctx, license, namespace.Name); err != nil {
		return false, err
	}
	_, err = c.applier.Release(ctx, apply.ObjectRef{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Namespace"),
		NamespacedName:   client.ObjectKeyFromObject(&namespace),
		UID:              namespace.UID,
	})
	return err == nil, err
}

func (c cleanup) deleteQuota(ctx context.Context, license *v1alpha1.License, namespace string) error {
	var quota corev1.ResourceQuota
	err := c.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: Quota}, &quota)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading the ResourceQuota: %w", err)
	case !metav1.IsControlledBy(&quota, license):
		return nil // it is someone else's
	}
	return setup.Delete(ctx, c.client, c.live, &quota)
}
