package arms

import (
	"context"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
)

// named returns an object with only the kind, namespace and name of the intent's object.
func named(intent compare.Intent) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(intent.Kind)
	object.SetNamespace(intent.Namespace)
	object.SetName(intent.Name)
	return object
}

// read reads the intent's object. If the object does not exist and intent.Creates is set, read returns an object
// without a UID.
func read(ctx context.Context, from client.Reader, intent compare.Intent) (*unstructured.Unstructured, error) {
	object := named(intent)
	err := from.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) && intent.Creates {
		object, err = named(intent), nil
	}
	if err != nil {
		return nil, err
	}
	return object, intent.Pause(ctx)
}

// put creates the object if it has no UID. Otherwise it updates the object, with the resourceVersion that the object has.
func put(
	ctx context.Context, c client.Client, intent compare.Intent, object *unstructured.Unstructured,
) (compare.Receipt, error) {
	var err error
	switch manager := client.FieldOwner(intent.Manager); {
	case object.GetUID() == "":
		err = c.Create(ctx, object, manager)
	case intent.Subresource != "":
		err = c.SubResource(intent.Subresource).Update(ctx, object, manager)
	default:
		err = c.Update(ctx, object, manager)
	}
	return compare.Receipt{ResourceVersion: object.GetResourceVersion()}, err
}

func patch(
	ctx context.Context, c client.Client, intent compare.Intent, object *unstructured.Unstructured, patch client.Patch,
) (compare.Receipt, error) {
	var err error
	if manager := client.FieldOwner(intent.Manager); intent.Subresource != "" {
		err = c.SubResource(intent.Subresource).Patch(ctx, object, patch, manager)
	} else {
		err = c.Patch(ctx, object, patch, manager)
	}
	return compare.Receipt{ResourceVersion: object.GetResourceVersion()}, err
}

// configure returns the apply configuration of the intent. It reads the live object first if intent.ReadsLive is set.
func configure(ctx context.Context, c client.Client, intent compare.Intent) (*unstructured.Unstructured, error) {
	var live *unstructured.Unstructured
	if intent.ReadsLive {
		var err error
		if live, err = read(ctx, c, intent); err != nil {
			return nil, err
		}
	}
	return configured(intent, live), intent.Pause(ctx)
}

// configured returns the apply configuration of the intent, with kind, namespace and name added.
func configured(intent compare.Intent, live *unstructured.Unstructured) *unstructured.Unstructured {
	object := named(intent)
	metadata, _ := object.Object["metadata"].(map[string]any)
	for field, value := range intent.Configure(live) {
		if wanted, ok := value.(map[string]any); ok && field == "metadata" {
			maps.Copy(metadata, wanted)
			continue
		}
		object.Object[field] = value
	}
	return object
}

// serverSideApply applies the given object, and overwrites the object with the API server's response.
func serverSideApply(
	ctx context.Context, c client.Client, intent compare.Intent, object *unstructured.Unstructured, options client.ApplyOptions,
) (compare.Receipt, error) {
	var err error
	if config := client.ApplyConfigurationFromUnstructured(object); intent.Subresource != "" {
		err = c.SubResource(intent.Subresource).Apply(ctx, config, &client.SubResourceApplyOptions{ApplyOptions: options})
	} else {
		err = c.Apply(ctx, config, &options)
	}
	return compare.Receipt{ResourceVersion: object.GetResourceVersion()}, err
}
