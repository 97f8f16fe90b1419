package staleretry

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.com/operator/src/api/v1"
	"example.com/operator/src/helpers"
)

type reconciler struct{ client.Client }

func (r *reconciler) captured(ctx context.Context, key types.NamespacedName) error {
	database := &v1.Database{}
	if err := r.Get(ctx, key, database); err != nil {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		database.Status.Phase = "Ready"
		return r.Status().Update(ctx, database) // want `read outside of the retry`
	})
}

func (r *reconciler) parameter(ctx context.Context, database *v1.Database) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		return r.Update(ctx, database) // want `read outside of the retry`
	})
	return err
}

func clientset(ctx context.Context, c kubernetes.Interface, name string) error {
	node, err := c.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node.Spec.Unschedulable = true
		_, err := c.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{}) // want `read outside of the retry`
		return err
	})
}

func (r *reconciler) nested(ctx context.Context, key types.NamespacedName) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		database := &v1.Database{}
		if err := r.Get(ctx, key, database); err != nil {
			return err
		}
		return helpers.Retry(ctx, r.Client, database) // want `a retry inside a retried function` `changes only its labels`
	})
}

func (r *reconciler) applied(ctx context.Context, config client.Object) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		return r.Patch(ctx, config, client.Apply, client.FieldOwner("x")) // want `is an ownership conflict`
	})
}

// Cases that are not reported.

func (r *reconciler) readInside(ctx context.Context, key types.NamespacedName) error {
	database := &v1.Database{}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := r.Get(ctx, key, database); err != nil {
			return err
		}
		database.Status.Phase = "Ready"
		return r.Status().Update(ctx, database)
	})
}

func (r *reconciler) readAfterConflict(ctx context.Context, database *v1.Database) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		err := r.Update(ctx, database)
		if err != nil {
			_ = r.Get(ctx, client.ObjectKeyFromObject(database), database)
		}
		return err
	})
}

func (r *reconciler) refresh(ctx context.Context, database *v1.Database) error {
	return r.Get(ctx, client.ObjectKeyFromObject(database), database)
}

func (r *reconciler) readInHelper(ctx context.Context, database *v1.Database) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := r.refresh(ctx, database); err != nil {
			return err
		}
		return r.Update(ctx, database)
	})
}

// merge copies the resourceVersion of the object that was read.
func merge(to *metav1.ObjectMeta, from metav1.ObjectMeta) { to.ResourceVersion = from.ResourceVersion }

func mergedInside(ctx context.Context, c kubernetes.Interface, desired *corev1.Service) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live, err := c.CoreV1().Services("a").Get(ctx, desired.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		merge(&desired.ObjectMeta, live.ObjectMeta)
		_, err = c.CoreV1().Services("a").Update(ctx, desired, metav1.UpdateOptions{})
		return err
	})
}

func readInsideClientset(ctx context.Context, c kubernetes.Interface, name string) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node, err := c.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		node.Spec.Unschedulable = true
		_, err = c.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
}
