package workloads

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
)

// preparer is the field manager for writes that prepare or clean up a trial.
const preparer = "compare-prepare"

// patience is the time limit for waiting until objects can be created, or are in a cache.
const patience = 30 * time.Second

// managerName returns the name of the j-th field manager of a trial.
func managerName(j int) string { return fmt.Sprintf("m%d", j) }

// build returns an object of the trial with the given top-level fields. It can also be used as an apply configuration.
func build(stage compare.Stage, kind compare.Kind, name string, fields map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	if fields != nil {
		object.Object = fields
	}
	object.SetGroupVersionKind(kind.GroupVersionKind)
	object.SetName(name)
	if !kind.Cluster {
		object.SetNamespace(stage.Namespace)
	}
	return object
}

// own makes a manager the owner of fields, by an apply. Otherwise the manager's first write in the trial would
// also change ownership.
func own(ctx context.Context, stage compare.Stage, kind compare.Kind, name, subresource, manager string, fields map[string]any) error {
	config := client.ApplyConfigurationFromUnstructured(build(stage, kind, name, fields))
	var err error
	if subresource == "" {
		err = stage.Admin.Apply(ctx, config, client.FieldOwner(manager))
	} else {
		err = stage.Admin.SubResource(subresource).Apply(ctx, config, client.FieldOwner(manager))
	}
	if err != nil {
		return fmt.Errorf("applying as field manager %s to %s %s: %w", manager, kind.Kind, name, err)
	}
	return nil
}

// clean deletes the objects of one kind whose names begin with the prefix of the trial.
func clean(ctx context.Context, stage compare.Stage, kind compare.Kind) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersionKind)
	var options []client.ListOption
	if !kind.Cluster {
		options = append(options, client.InNamespace(stage.Namespace))
	}
	if err := stage.Admin.List(ctx, list, options...); err != nil {
		return fmt.Errorf("cleaning up after the trial: listing its objects of kind %s: %w", kind.Kind, err)
	}
	return together(ctx, len(list.Items), func(ctx context.Context, i int) error {
		object := &list.Items[i]
		if !strings.HasPrefix(object.GetName(), inTrial(stage, "")) || object.GetDeletionTimestamp() != nil {
			return nil
		}
		if err := remove(ctx, stage.Admin, object); err != nil {
			return fmt.Errorf("cleaning up after the trial: deleting %s %s: %w", kind.Kind, object.GetName(), err)
		}
		return nil
	})
}

// remove removes the finalizers of an object and deletes it. It succeeds if the object does not exist.
func remove(ctx context.Context, admin client.Client, object *unstructured.Unstructured) error {
	if len(object.GetFinalizers()) > 0 {
		none := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := admin.Patch(ctx, object, none, client.FieldOwner(preparer)); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	return client.IgnoreNotFound(admin.Delete(ctx, object, client.GracePeriodSeconds(0), client.PropagationPolicy("Background")))
}
