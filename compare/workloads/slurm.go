package workloads

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/compare"
)

// slurmService is a workload on the Service of a Slurm controller. Several reconcilers write to it, and the API
// server adds fields.
func slurmService() compare.Workload {
	return compare.Workload{
		Name: "slurm-service",
		Summary: "the Service of a Slurm controller: one reconciler owns port and selector, each has an annotation, " +
			"the API server adds the address",
		Defaults: compare.Parameters{Writers: 4, Objects: 4, Managers: 4},
		Arms:     []string{"gmu-default-retry", "gmu-replace", "ssa", "apply"},
		Prepare:  prepareSlurm,
	}
}

type slurm struct{ objects }

func newSlurm(stage compare.Stage) slurm {
	return slurm{newObjects(stage, corev1.SchemeGroupVersion.WithKind("Service"), "services")}
}

// prepareSlurm makes each manager the owner of its fields. The first manager is the reconciler of the Slurm
// controller (slurmctld), and creates the Service.
func prepareSlurm(ctx context.Context, stage compare.Stage) (compare.Run, error) {
	r := newSlurm(stage)
	return r, together(ctx, stage.Objects, func(ctx context.Context, i int) error {
		for manager := range stage.Managers {
			fields := configured(r.modify(r.name(i), manager, "start"))(nil)
			if err := own(ctx, stage, r.kind, r.name(i), "", managerName(manager), fields); err != nil {
				return err
			}
		}
		return nil
	})
}

// Next returns the intent of the writer's manager for a Service.
func (r slurm) Next(_ context.Context, writer, sequence int) (compare.Intent, bool, error) {
	intent, manager, value := r.intent(writer, sequence), r.manager(writer), uniqueValue(writer, sequence)
	intent.Wants = map[string]string{ownAnnotation(manager): value}
	intent.Modify = r.modify(intent.Name, manager, value)
	intent.Configure = configured(intent.Modify)
	intent.Replace = func(o *unstructured.Unstructured) error {
		wanted := unstructured.Unstructured{Object: intent.Configure(nil)}
		o.SetAnnotations(wanted.GetAnnotations())
		if spec, found := wanted.Object["spec"]; found {
			o.Object["spec"] = spec
		}
		return nil
	}
	return intent, true, nil
}

// modify returns a function that sets the fields of a manager: its annotation and, for the first manager, the fields that
// the reconciler of the Slurm controller owns. In the list of ports it sets only its own item.
func (r slurm) modify(service string, manager int, value string) func(*unstructured.Unstructured) error {
	return func(o *unstructured.Unstructured) error {
		err := unstructured.SetNestedField(o.Object, value, "metadata", "annotations", ownAnnotation(manager))
		if manager != 0 || err != nil {
			return err
		}
		ports, _, err := unstructured.NestedSlice(o.Object, "spec", "ports")
		if err != nil {
			return err
		}
		if len(ports) == 0 {
			ports = []any{map[string]any{}}
		}
		port, _ := ports[0].(map[string]any)
		port["name"], port["port"], port["protocol"] = "slurmctld", int64(6817), "TCP"
		return errors.Join(
			unstructured.SetNestedField(o.Object, "ClusterIP", "spec", "type"),
			unstructured.SetNestedField(o.Object, service, "spec", "selector", "app.kubernetes.io/instance"),
			unstructured.SetNestedSlice(o.Object, ports, "spec", "ports"),
		)
	}
}
