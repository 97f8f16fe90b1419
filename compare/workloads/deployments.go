package workloads

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/compare"
	"coapply.dev/compare/workloads/deployment"
)

// hotDeployment is a workload for contention on a realistic object: many writers write to few Deployments, each writer to
// only one. A writer changes the annotation of its manager. With an arm that applies, each write sends all fields of the manager.
func hotDeployment() compare.Workload {
	return compare.Workload{
		Name:    "hot-deployment",
		Summary: "Deployments of about 30 fields under four field managers; each writer changes the annotation of its manager",
		Defaults: compare.Parameters{
			Writers: 16, Objects: 1, Managers: deployment.Managers, Warmup: time.Second, Duration: 6 * time.Second,
		},
		Fixed:   []string{"managers"},
		Prepare: prepareDeployments,
		Attach:  func(stage compare.Stage) compare.Run { return newDeployments(stage) },
	}
}

type deployments struct{ objects }

func newDeployments(stage compare.Stage) deployments {
	return deployments{newObjects(stage, deployment.Kind, "deployments")}
}

func prepareDeployments(ctx context.Context, stage compare.Stage) (compare.Run, error) {
	r := newDeployments(stage)
	return r, together(ctx, max(stage.Objects, 1), func(ctx context.Context, i int) error {
		return deployment.Prepare(ctx, stage.Admin, stage.Namespace, r.name(i))
	})
}

// Next returns an intent that changes the annotation of the writer's manager.
func (r deployments) Next(_ context.Context, writer, sequence int) (compare.Intent, bool, error) {
	intent, j := r.intent(writer, sequence), r.manager(writer)
	intent.Name = r.name(writer % max(r.stage.Objects, 1))
	value := uniqueValue(writer, sequence)
	intent.Wants = map[string]string{deployment.Annotation(j): value}
	intent.Modify = func(object *unstructured.Unstructured) error {
		return unstructured.SetNestedField(object.Object, value, "metadata", "annotations", deployment.Annotation(j))
	}
	object, err := deployment.Unstructured(deployment.Intent(r.stage.Namespace, intent.Name, j, value))
	if err != nil {
		return intent, false, err
	}
	intent.Configure = func(*unstructured.Unstructured) map[string]any { return object.DeepCopy().Object }
	return intent, true, nil
}
