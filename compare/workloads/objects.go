package workloads

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
)

// ofKind is the base of all workloads. It implements methods of compare.Run for a workload that has one kind of
// objects, no background writes, and no extra results of its own.
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

// over reports whether the given round is after the last round of the trial. In a trial by time, it returns false.
func (o ofKind) over(round int) bool { return o.stage.Rounds > 0 && round >= o.stage.Rounds }

// cache returns the cache of the trial, or nil if the trial has none.
func (o ofKind) cache() client.Reader {
	if o.stage.Cache == nil {
		return nil
	}
	return o.stage.Cache()
}

// has reports whether an object belongs to the trial and has a name with the given prefix.
func (o ofKind) has(object *unstructured.Unstructured, prefix string) bool {
	return strings.HasPrefix(object.GetName(), inTrial(o.stage, prefix))
}

// Clean implements compare.Run. It deletes all objects of the trial without their finalizers, and without a grace
// period, because no pod of a trial runs.
func (o ofKind) Clean(ctx context.Context) error { return clean(ctx, o.stage, o.kind) }

// objects is the base of workloads with a fixed number of objects. The objects are created at the start, and each
// writer writes to the objects in turn.
type objects struct{ ofKind }

func newObjects(stage compare.Stage, of schema.GroupVersionKind, resource string) objects {
	return objects{ofKind{stage, compare.Kind{GroupVersionKind: of, Resource: resource}}}
}

func (o objects) name(i int) string { return inTrial(o.stage, strconv.Itoa(i)) }

func (o objects) mine(object *unstructured.Unstructured) bool { return o.has(object, "") }

// Fields implements compare.Run. The tracked fields are the annotations of the managers.
func (o objects) Fields(object *unstructured.Unstructured) map[string]string {
	if !o.mine(object) {
		return nil
	}
	return ownAnnotations(object)
}

// manager returns the number of the field manager that a writer uses.
func (o objects) manager(writer int) int { return writer % max(o.stage.Managers, 1) }

// intent returns an intent with writer, manager and object, but without a change.
func (o objects) intent(writer, sequence int) compare.Intent {
	return compare.Intent{
		Writer: writer, Sequence: sequence,
		Kind: o.kind.GroupVersionKind, Namespace: o.stage.Namespace,
		Name:    o.name((writer + sequence) % max(o.stage.Objects, 1)),
		Manager: managerName(o.manager(writer)),
	}
}

// prepare creates the objects, and makes the managers the owners of their fields by calling owners for each object.
// The objects are prepared concurrently.
func (o objects) prepare(ctx context.Context, fields func() map[string]any, owners func(ctx context.Context, name string) error) error {
	return together(ctx, max(o.stage.Objects, 1), func(ctx context.Context, i int) error {
		object := build(o.stage, o.kind, o.name(i), fields())
		if err := o.stage.Admin.Create(ctx, object, client.FieldOwner(preparer)); err != nil {
			return fmt.Errorf("creating %s %s for the trial: %w", o.kind.Kind, object.GetName(), err)
		}
		return owners(ctx, o.name(i))
	})
}
