package deployment

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/compare"
)

// Hot is the workload of many writers on few Deployments, each of them on one. A writer changes its manager's annotation:
// the whole intent of the manager is applied each time.
func Hot() compare.Workload {
	return compare.Workload{
		Name:    "hot-deployment",
		Summary: "Deployments of four field managers; each writer changes the annotation of its manager",
		Defaults: compare.Parameters{
			Writers: 64, Objects: 1, Managers: Managers, Warmup: time.Second, Duration: 6 * time.Second,
		},
		Prepare: prepareHot,
		Attach:  func(stage compare.Stage) compare.Run { return hot{stage} },
	}
}

type hot struct{ compare.Stage }

const trialLabel = "peers.coapply.dev/trial"

func prepareHot(ctx context.Context, stage compare.Stage) (compare.Run, error) {
	h := hot{stage}
	if stage.Managers < 1 || stage.Managers > Managers {
		return h, fmt.Errorf("a Deployment here has 1 to %d managers, not %d", Managers, stage.Managers)
	}
	for i := range max(stage.Objects, 1) {
		labels := map[string]string{trialLabel: strings.TrimSuffix(stage.Prefix, "-")}
		if err := Prepare(ctx, stage.Admin, stage.Namespace, h.name(i), stage.Managers, labels); err != nil {
			return h, err
		}
	}
	return h, nil
}

func (h hot) name(i int) string { return h.Prefix + "d" + strconv.Itoa(i) }

// Kinds implements compare.Run.
func (h hot) Kinds() []compare.Kind {
	return []compare.Kind{{GroupVersionKind: Kind, Resource: "deployments"}}
}

// Next wants another value of the annotation of the writer's manager.
func (h hot) Next(_ context.Context, writer, sequence int) (compare.Intent, bool, error) {
	j := writer % h.Managers
	value := fmt.Sprintf("w%d-%d", writer, sequence+1)
	intent := compare.Intent{
		Writer: writer, Sequence: sequence, Kind: Kind, Namespace: h.Namespace, Manager: Manager(j),
		Name: h.name(writer % max(h.Objects, 1)), Wants: map[string]string{Annotation(j): value},
	}
	intent.Modify = func(object *unstructured.Unstructured) error {
		return unstructured.SetNestedField(object.Object, value, "metadata", "annotations", Annotation(j))
	}
	object, err := Unstructured(Intent(h.Namespace, intent.Name, j, value))
	if err != nil {
		return intent, false, err
	}
	if j == 0 { // what Prepare had it own beside
		labels := object.GetLabels()
		labels[trialLabel] = strings.TrimSuffix(h.Prefix, "-")
		object.SetLabels(labels)
	}
	intent.Configure = func(*unstructured.Unstructured) map[string]any { return object.DeepCopy().Object }
	return intent, true, nil
}

// Fields tracks the managers' annotations.
func (h hot) Fields(object *unstructured.Unstructured) map[string]string {
	if !strings.HasPrefix(object.GetName(), h.Prefix) {
		return nil
	}
	fields, annotations := map[string]string{}, object.GetAnnotations()
	for j := range h.Managers {
		if value, ok := annotations[Annotation(j)]; ok {
			fields[Annotation(j)] = value
		}
	}
	return fields
}

// Background has nobody write beside the writers but the Deployment's own controller.
func (h hot) Background(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Finish implements compare.Run.
func (h hot) Finish(context.Context) (map[string]float64, error) { return nil, nil }

// Clean implements compare.Run.
func (h hot) Clean(ctx context.Context) error {
	var trouble []error
	for i := range max(h.Objects, 1) {
		trouble = append(trouble, Remove(ctx, h.Admin, h.Namespace, h.name(i)))
	}
	return errors.Join(trouble...)
}

var _ compare.Run = hot{}
