package workloads

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/compare"
	"coapply.dev/compare/workloads/deployment"
)

// HotDeployment is a workload of `compare bench`: many writers write to few Deployments, each writer to only one. A
// writer changes the annotation of its manager. With an arm that applies, each write sends all fields of the manager.
func HotDeployment() compare.Workload {
	return compare.Workload{
		Name:    "hot-deployment",
		Summary: "Deployments of four field managers; each writer changes the annotation of its manager",
		Defaults: compare.Parameters{
			Writers: 64, Objects: 1, Managers: deployment.Managers, Warmup: time.Second, Duration: 6 * time.Second,
		},
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
		return deployment.Prepare(ctx, stage.Admin, stage.Namespace, r.name(i), stage.Managers)
	})
}

// Next returns an intent that changes the annotation of the writer's manager.
func (r deployments) Next(_ context.Context, writer, sequence int) (compare.Intent, bool, error) {
	intent, j := r.intent(writer, sequence), r.manager(writer)
	intent.Name = r.name(writer % max(r.stage.Objects, 1))
	value := fmt.Sprintf("w%d-%d", writer, sequence+1)
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

// Fields implements compare.Run. The tracked fields are the annotations of the managers.
func (r deployments) Fields(object *unstructured.Unstructured) map[string]string {
	if !r.mine(object) {
		return nil
	}
	fields := map[string]string{}
	for name, value := range object.GetAnnotations() {
		if strings.HasPrefix(name, deployment.Domain) {
			fields[name] = value
		}
	}
	return fields
}
