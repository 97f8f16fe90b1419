package workloads

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Finish returns the numbers of EndpointSlices and of ready endpoints per Service of the trial. Clients of Slurm find
// slurmctld through these endpoints.
func (r *slurm) Finish(ctx context.Context) (map[string]float64, error) {
	var slices, endpoints int
	err := wait.PollUntilContextTimeout(ctx, nodePoll, slicePatience, true, func(ctx context.Context) (done bool, err error) {
		slices, endpoints, err = r.endpoints(ctx)
		return slices >= len(r.owners) && endpoints >= len(r.owners), err
	})
	if err != nil && (ctx.Err() != nil || !wait.Interrupted(err)) {
		return nil, fmt.Errorf("listing the EndpointSlices of the trial's Services: %w", err)
	}
	services := float64(len(r.owners))
	return map[string]float64{
		"endpoint_slices_per_service": float64(slices) / services,
		"ready_endpoints_per_service": float64(endpoints) / services,
	}, nil
}

func (r *slurm) endpoints(ctx context.Context) (slices, ready int, err error) {
	var list discoveryv1.EndpointSliceList
	if err := r.stage.Admin.List(ctx, &list, client.InNamespace(r.stage.Namespace)); err != nil {
		return 0, 0, err
	}
	ours := map[string]bool{}
	for i := range r.owners {
		ours[r.service(i)] = true
	}
	for _, slice := range list.Items {
		if !ours[slice.Labels[discoveryv1.LabelServiceName]] {
			continue
		}
		slices++
		for _, endpoint := range slice.Endpoints {
			if endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready {
				ready += len(endpoint.Addresses)
			}
		}
	}
	return slices, ready, nil
}

// Clean deletes the Services and the StatefulSets. The garbage collector deletes the pods and the EndpointSlices.
func (r *slurm) Clean(ctx context.Context) error {
	var errs []error
	for i, owner := range r.owners {
		service := &corev1.Service{}
		service.Namespace, service.Name = r.stage.Namespace, r.service(i)
		errs = append(errs,
			client.IgnoreNotFound(r.stage.Admin.Delete(ctx, service)),
			client.IgnoreNotFound(r.stage.Admin.Delete(ctx, owner.DeepCopy(), client.PropagationPolicy("Background"))),
		)
	}
	return errors.Join(errs...)
}
