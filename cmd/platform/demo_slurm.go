package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
)

var (
	slurm   = client.ObjectKey{Namespace: "default", Name: "slurm"}
	workers = client.ObjectKey{Namespace: "default", Name: "workers"}
)

func (d *demonstration) slurm(ctx context.Context) {
	d.show.step("Slurm: a controller, and compute nodes under fixed names",
		"A SlurmController has a StatefulSet behind a Service. A NodeSet has numbered",
		"pods: a reconcile with a stale cache cannot create a pod too many.")
	d.create(ctx, &v1alpha1.SlurmController{
		ObjectMeta: metav1.ObjectMeta{Namespace: slurm.Namespace, Name: slurm.Name},
		Spec:       v1alpha1.SlurmControllerSpec{Image: "registry.example.com/slurmctld:1"},
	}, &v1alpha1.NodeSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: workers.Namespace, Name: workers.Name},
		Spec: v1alpha1.NodeSetSpec{
			ControllerName: slurm.Name, Replicas: new(int32(3)), MaxUnavailable: 2, Image: "registry.example.com/slurmd:1",
		},
	})
	controller := await(ctx, d, slurm, "slurmctld is ready", func(c *v1alpha1.SlurmController) string {
		return unlessCondition(c.Status.Conditions, v1alpha1.ConditionReady, "True", "")
	})
	d.served(ctx, controller.Status.ServiceName)
	d.workers(ctx, 3)
	d.get(ctx, "slurmcontrollers", "nodesets")
	d.show.ok("clients find slurmctld through the Service %s", controller.Status.ServiceName)
	d.show.ok("workers-0 to workers-2 are ready")
}

// served waits until a Service has a ready endpoint.
func (d *demonstration) served(ctx context.Context, service string) {
	until(ctx, "Service "+service+" has a ready endpoint", func(ctx context.Context) (string, error) {
		var slices discoveryv1.EndpointSliceList
		err := d.platform.client.List(ctx, &slices, client.InNamespace(slurm.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service})
		for _, slice := range slices.Items {
			for _, endpoint := range slice.Endpoints {
				if endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready {
					return "", err
				}
			}
		}
		return fmt.Sprintf("the Service has %d EndpointSlices, but no ready endpoint", len(slices.Items)), err
	})
}

func (d *demonstration) scaleAndRoll(ctx context.Context) {
	d.show.step("The NodeSet scaled out, and rolled to another image",
		"kubectl scale works on a NodeSet as on a Deployment. Existing pods stay. A",
		"new image replaces the pods, two at a time, under the same names.")
	three := d.workers(ctx, 3)
	d.kubectl(ctx, "scale", "nodeset/workers", "--replicas=6")
	six := d.workers(ctx, 6)
	for name, uid := range three {
		if six[name] != uid {
			fail("pod %s was replaced when the NodeSet was scaled out, want the same pod", name)
		}
	}
	d.kubectl(ctx, "patch", "nodeset/workers", "--type=merge", "--patch", `{"spec":{"image":"registry.example.com/slurmd:2"}}`)
	rolled := d.workers(ctx, 6)
	d.kubectl(ctx, "get", "pods", "--selector", d.selector)
	for name, uid := range six {
		if rolled[name] == uid {
			fail("pod %s was not replaced after the change of spec.image, want a new pod", name)
		}
	}
	d.show.ok("six pods: the names are the same, and every pod is new")
}

// workers waits until the NodeSet has n pods that are all ready and have the current spec. It returns
// the uids of the pods by name.
func (d *demonstration) workers(ctx context.Context, n int32) map[string]types.UID {
	set := await(ctx, d, workers, fmt.Sprintf("its %d pods are ready", n), func(set *v1alpha1.NodeSet) string {
		s := set.Status
		if s.ObservedGeneration != set.Generation || s.Replicas != n || s.ReadyReplicas != n || s.UpdatedReplicas != n {
			return fmt.Sprintf("status.observedGeneration is %d, want %d; the status counts %d pods, %d ready, %d updated",
				s.ObservedGeneration, set.Generation, s.Replicas, s.ReadyReplicas, s.UpdatedReplicas)
		}
		return unlessCondition(set.Status.Conditions, v1alpha1.ConditionReady, "True", "")
	})
	d.selector = set.Status.Selector
	selector := must(labels.Parse(d.selector))
	var pods corev1.PodList
	check(d.platform.client.List(ctx, &pods, client.InNamespace(workers.Namespace), client.MatchingLabelsSelector{Selector: selector}))
	uids := map[string]types.UID{}
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp == nil {
			uids[pods.Items[i].Name] = pods.Items[i].UID
		}
	}
	for i := range n {
		if name := fmt.Sprintf("%s-%d", workers.Name, i); uids[name] == "" || len(uids) != int(n) {
			fail("the pods are %s; want %s-0 to %s-%d", strings.Join(slices.Sorted(maps.Keys(uids)), ", "), workers.Name, workers.Name, n-1)
		}
	}
	return uids
}
