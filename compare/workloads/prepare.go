package workloads

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
)

const (
	// trialLabel is on every object that create makes, with the trial's name as its value.
	trialLabel = domain + "trial"
	// preparer is the field manager of what belongs to no manager of the workload.
	preparer = "compare-prepare"
)

// trialName is the trial's prefix as a label's value, which does not end with a dash.
func trialName(stage compare.Stage) string { return strings.TrimSuffix(stage.Prefix, "-") }

// managerName names the j-th field manager of a trial.
func managerName(j int) string { return fmt.Sprintf("m%d", j) }

// build makes an object, or an apply configuration, of the trial: fields go to its top level.
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

// create creates an object of the trial, with its label.
func create(ctx context.Context, stage compare.Stage, kind compare.Kind, name string, fields map[string]any) error {
	object := build(stage, kind, name, fields)
	object.SetLabels(map[string]string{trialLabel: trialName(stage)})
	if err := stage.Admin.Create(ctx, object, client.FieldOwner(preparer)); err != nil {
		return fmt.Errorf("creating %s %s for the trial: %w", kind.Kind, name, err)
	}
	return nil
}

// own applies fields as a manager, so that the manager's first write in the trial is no migration.
func own(ctx context.Context, stage compare.Stage, kind compare.Kind, name, subresource, manager string, fields map[string]any) error {
	config := client.ApplyConfigurationFromUnstructured(build(stage, kind, name, fields))
	var err error
	if subresource == "" {
		err = stage.Admin.Apply(ctx, config, client.FieldOwner(manager))
	} else {
		err = stage.Admin.SubResource(subresource).Apply(ctx, config, client.FieldOwner(manager))
	}
	if err != nil {
		return fmt.Errorf("letting %s own its fields of %s %s: %w", manager, kind.Kind, name, err)
	}
	return nil
}

// clean deletes what create made of a kind, whatever finalizers stand on it.
func clean(ctx context.Context, stage compare.Stage, kind compare.Kind) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersionKind)
	options := []client.ListOption{client.MatchingLabels{trialLabel: trialName(stage)}}
	if !kind.Cluster {
		options = append(options, client.InNamespace(stage.Namespace))
	}
	if err := stage.Admin.List(ctx, list, options...); err != nil {
		return fmt.Errorf("cleaning: listing the trial's objects of kind %s: %w", kind.Kind, err)
	}
	return together(ctx, len(list.Items), func(ctx context.Context, i int) error {
		object := &list.Items[i]
		if err := remove(ctx, stage.Admin, object); err != nil {
			return fmt.Errorf("cleaning: %s %s: %w", kind.Kind, object.GetName(), err)
		}
		return nil
	})
}

// remove deletes an object for good; an absent one is success.
func remove(ctx context.Context, admin client.Client, object *unstructured.Unstructured) error {
	if len(object.GetFinalizers()) > 0 {
		none := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := admin.Patch(ctx, object, none, client.FieldOwner(preparer)); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	return client.IgnoreNotFound(admin.Delete(ctx, object))
}
