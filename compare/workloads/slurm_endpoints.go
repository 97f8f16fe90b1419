package workloads

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
)

// Finish returns the number of EndpointSlices per Service of the trial. Clients of Slurm find slurmctld through them.
func (r *slurm) Finish(ctx context.Context) (map[string]float64, error) {
	slices := 0
	err := wait.PollUntilContextTimeout(ctx, nodePoll, slicePatience, true, func(ctx context.Context) (done bool, err error) {
		slices, err = r.slices(ctx)
		return slices >= len(r.owners), err
	})
	if err != nil && (ctx.Err() != nil || !wait.Interrupted(err)) {
		return nil, fmt.Errorf("listing the EndpointSlices of the trial's Services: %w", err)
	}
	return map[string]float64{"endpoint_slices_per_service": float64(slices) / float64(len(r.owners))}, nil
}

func (r *slurm) slices(ctx context.Context) (n int, err error) {
	var list discoveryv1.EndpointSliceList
	if err := r.stage.Admin.List(ctx, &list, client.InNamespace(r.stage.Namespace)); err != nil {
		return 0, err
	}
	for _, slice := range list.Items {
		if strings.HasPrefix(slice.Labels[discoveryv1.LabelServiceName], inTrial(r.stage, "slurm-")) {
			n++
		}
	}
	return n, nil
}

// Clean deletes the Services and the StatefulSets. The garbage collector deletes the pods and the EndpointSlices.
func (r *slurm) Clean(ctx context.Context) error {
	sets := compare.Kind{GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("StatefulSet")}
	return errors.Join(r.ofKind.Clean(ctx), clean(ctx, r.stage, sets))
}
