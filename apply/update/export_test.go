package update

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"coapply.dev/apply"
)

// Repeat makes attempts for the Pod ns/pod without a lane.
func Repeat(ctx context.Context, backoff wait.Backoff, fn func(context.Context) error) (attempts int, err error) {
	noLane := func(ctx context.Context) (context.Context, func(), error) { return ctx, func() {}, ctx.Err() }
	pod := apply.ObjectRef{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), NamespacedName: types.NamespacedName{Namespace: "ns", Name: "pod"},
	}
	return repeat(ctx, backoff, pod, noLane, func(ctx context.Context, _ attempt) (again bool, err error) {
		err = fn(ctx)
		return err != nil, err
	})
}
