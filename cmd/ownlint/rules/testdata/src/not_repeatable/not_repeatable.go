package notrepeatable

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.com/operator/src/api/v1"
)

type reconciler struct {
	client.Client
	record.EventRecorder
}

func (r *reconciler) repeated(ctx context.Context, key client.ObjectKey) ([]string, error) {
	total := 0
	var names []string
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		database := &v1.Database{}
		if err := r.Get(ctx, key, database); err != nil {
			return err
		}
		total++                                                       // want `each attempt changes total again`
		names = append(names, database.Name)                          // want `each attempt changes names again`
		r.Event(database, "Normal", "Ready", "the database is ready") // want `the event comes before a write`
		if err := r.Create(ctx, &corev1.Pod{}); err != nil {          // want `the creation of an object comes before a write`
			return err
		}
		return r.Update(ctx, database)
	})
	return names, err
}

// Cases that are not reported.

func (r *reconciler) once(ctx context.Context, key client.ObjectKey) ([]string, error) {
	attempts := 0
	var names []string
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		attempts++
		database := &v1.Database{}
		if err := r.Get(ctx, key, database); err != nil {
			return client.IgnoreNotFound(r.Create(ctx, database))
		}
		names = nil
		names = append(names, database.Name)
		if err := r.Update(ctx, database); err != nil {
			return err
		}
		r.Event(database, "Normal", "Ready", "the database is ready")
		return nil
	})
	return names, err
}
