package workloads

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/compare"
)

// slurmService is a workload on the Service of a Slurm controller. Several reconcilers write to it, and the API
// server adds fields.
func slurmService() compare.Workload {
	return compare.Workload{
		Name: "slurm-service",
		Summary: "the Service of a Slurm controller: one reconciler owns port, selector and owner, each has an annotation, " +
			"the API server adds the address",
		Defaults: compare.Parameters{Writers: 4, Objects: 4, Managers: 4},
		Arms:     []string{"gmu-default-retry", "gmu-replace", "ssa", "apply"},
		Local:    true,
		Prepare:  prepareSlurm,
	}
}

const (
	slurmPort = 6817
	slurmApp  = "app.kubernetes.io/instance"
)

type slurm struct {
	ofKind

	owners []*appsv1.StatefulSet
}

func prepareSlurm(ctx context.Context, stage compare.Stage) (compare.Run, error) {
	kind := compare.Kind{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Service"), Resource: "services"}
	r := &slurm{ofKind: ofKind{stage, kind}}
	for i := range stage.Objects {
		owner := r.statefulSet(i)
		r.owners = append(r.owners, owner)
		if name := r.service(i); len(name) > 63 {
			return r, fmt.Errorf("the name of service %s has %d characters, more than 63: use a shorter prefix", name, len(name))
		}
		if err := stage.Admin.Create(ctx, owner); err != nil {
			return r, fmt.Errorf("creating StatefulSet %s: %w", owner.Name, err)
		}
	}
	err := r.prepareServices(ctx)
	return r, err
}

// prepareServices makes each manager the owner of its fields. The first manager is the reconciler of the Slurm
// controller (slurmctld), and creates the Service.
func (r *slurm) prepareServices(ctx context.Context) error {
	for i := range r.owners {
		for manager := range r.stage.Managers {
			intent := r.intent(manager, -1, i, manager)
			r.stage.Note(intent)
			if err := own(ctx, r.stage, r.kind, intent.Name, "", intent.Manager, intent.Configure(nil)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *slurm) controller(i int) string { return inTrial(r.stage, fmt.Sprintf("slurm-%d", i)) }

func (r *slurm) service(i int) string { return r.controller(i) + "-controller" }

func (r *slurm) Next(_ context.Context, writer, sequence int) (compare.Intent, bool, error) {
	if r.over(sequence) {
		return compare.Intent{}, false, nil
	}
	return r.intent(writer, sequence, (writer+sequence)%len(r.owners), writer%r.stage.Managers), true, nil
}

// intent returns the intent of a manager for a Service. Manager 0 is the reconciler of the Slurm controller,
// which creates the Service.
func (r *slurm) intent(writer, sequence, object, manager int) compare.Intent {
	value := uniqueValue(writer, sequence)
	modify := func(o *unstructured.Unstructured) error {
		err := unstructured.SetNestedField(o.Object, value, "metadata", "annotations", ownAnnotation(manager))
		if manager != 0 || err != nil {
			return err
		}
		return r.controlService(o, object)
	}
	return compare.Intent{
		Writer: writer, Sequence: sequence, Kind: r.kind.GroupVersionKind,
		Namespace: r.stage.Namespace, Name: r.service(object), Manager: managerName(manager),
		Wants:     map[string]string{ownAnnotation(manager): value},
		Configure: configured(modify), Modify: modify, Creates: manager == 0,
		Replace: func(o *unstructured.Unstructured) error {
			wanted := configured(modify)(nil)
			metadata := wanted["metadata"].(map[string]any)
			if spec, found := wanted["spec"]; found {
				o.Object["spec"] = spec
			}
			return unstructured.SetNestedField(o.Object, metadata["annotations"], "metadata", "annotations")
		},
	}
}

// controlService sets the fields that the controller's reconciler owns. In the list of ports it sets only its own item.
func (r *slurm) controlService(o *unstructured.Unstructured, i int) error {
	owner := r.owners[i]
	labels := map[string]any{slurmApp: owner.Name}
	ports, _, err := unstructured.NestedSlice(o.Object, "spec", "ports")
	if err != nil {
		return err
	}
	if len(ports) == 0 {
		ports = []any{map[string]any{}}
	}
	port, _ := ports[0].(map[string]any)
	port["name"], port["port"], port["protocol"] = "slurmctld", int64(slurmPort), "TCP"
	return errors.Join(
		unstructured.SetNestedField(o.Object, owner.Name, "metadata", "labels", slurmApp),
		unstructured.SetNestedSlice(o.Object, []any{map[string]any{
			"apiVersion": "apps/v1", "kind": "StatefulSet", "name": owner.Name, "uid": string(owner.UID),
			"controller": true, "blockOwnerDeletion": true,
		}}, "metadata", "ownerReferences"),
		unstructured.SetNestedField(o.Object, "ClusterIP", "spec", "type"),
		unstructured.SetNestedMap(o.Object, labels, "spec", "selector"),
		unstructured.SetNestedSlice(o.Object, ports, "spec", "ports"),
	)
}

func (r *slurm) Fields(o *unstructured.Unstructured) map[string]string {
	if !r.has(o, "slurm-") {
		return nil
	}
	return ownAnnotations(o)
}

// statefulSet returns the StatefulSet that runs slurmctld. It is the owner of the Service.
func (r *slurm) statefulSet(i int) *appsv1.StatefulSet {
	labels := map[string]string{slurmApp: r.controller(i)}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.stage.Namespace, Name: r.controller(i), Labels: labels},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(1)), ServiceName: r.service(i), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "slurmctld", Image: "slurmctld"}}},
			},
		},
	}
}

// slicePatience limits how long Finish waits for EndpointSlices. Usually they exist already.
const slicePatience = 30 * time.Second
