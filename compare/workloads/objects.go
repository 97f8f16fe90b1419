package workloads

import (
	"context"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/compare"
)

// ofKind is the part of a Run that all workloads have in common: they are about one kind, nobody writes beside the writers,
// and there is nothing to count but what the trial counts.
type ofKind struct {
	stage compare.Stage
	kind  compare.Kind
}

// Kinds implements compare.Run.
func (o ofKind) Kinds() []compare.Kind { return []compare.Kind{o.kind} }

// Background implements compare.Run.
func (ofKind) Background(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Finish implements compare.Run.
func (ofKind) Finish(context.Context) (map[string]float64, error) { return nil, nil }

// over reports whether a trial by rounds has no more.
func (o ofKind) over(round int) bool { return o.stage.Rounds > 0 && round >= o.stage.Rounds }

// has reports whether an object is of the trial, by the beginning of its name.
func (o ofKind) has(object *unstructured.Unstructured, prefix string) bool {
	return strings.HasPrefix(object.GetName(), inTrial(o.stage, prefix))
}

// objects is the part of a Run that workloads on a number of objects have in common, which stand from the start and are
// written to in turn.
type objects struct{ ofKind }

func newObjects(stage compare.Stage, of schema.GroupVersionKind, resource string) objects {
	return objects{ofKind{stage, compare.Kind{GroupVersionKind: of, Resource: resource}}}
}

// Clean implements compare.Run.
func (o objects) Clean(ctx context.Context) error { return clean(ctx, o.stage, o.kind) }

func (o objects) name(i int) string { return inTrial(o.stage, strconv.Itoa(i)) }

func (o objects) mine(object *unstructured.Unstructured) bool { return o.has(object, "") }

// manager is the number of the manager that a writer writes as.
func (o objects) manager(writer int) int { return writer % max(o.stage.Managers, 1) }

// intent begins an intent: whose it is, and on which object.
func (o objects) intent(writer, sequence int) compare.Intent {
	return compare.Intent{
		Writer: writer, Sequence: sequence,
		Kind: o.kind.GroupVersionKind, Namespace: o.stage.Namespace,
		Name:    o.name((writer + sequence) % max(o.stage.Objects, 1)),
		Manager: managerName(o.manager(writer)),
	}
}

// prepare creates the objects one by one, and lets others own fields of each: all objects at once, but the owners of
// one after another.
func (o objects) prepare(ctx context.Context, fields func() map[string]any, owners func(ctx context.Context, name string) error) error {
	return together(ctx, max(o.stage.Objects, 1), func(ctx context.Context, i int) error {
		if err := create(ctx, o.stage, o.kind, o.name(i), fields()); err != nil {
			return err
		}
		return owners(ctx, o.name(i))
	})
}
