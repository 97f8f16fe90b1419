package workloads

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/compare"
)

// configMaps is the base of workloads that write to the data of ConfigMaps.
type configMaps struct{ objects }

func newConfigMaps(stage compare.Stage) configMaps {
	return configMaps{newObjects(stage, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "configmaps")}
}

// Fields implements compare.Run. The tracked fields are all keys of the data.
func (c configMaps) Fields(object *unstructured.Unstructured) map[string]string {
	if !c.mine(object) {
		return nil
	}
	fields := map[string]string{}
	data, _, _ := unstructured.NestedStringMap(object.Object, "data")
	for key, value := range data {
		fields[dataField(key)] = value
	}
	return fields
}

// dataField returns the name of the tracked field for a key of the data.
func dataField(key string) string { return ".data." + key }

// prepare creates the ConfigMaps. For the j-th manager, owned returns the data that the manager owns, or nil for none.
func (c configMaps) prepare(ctx context.Context, owned func(j int) map[string]any) error {
	none := func() map[string]any { return nil }
	return c.objects.prepare(ctx, none, func(ctx context.Context, name string) error {
		for j := range c.stage.Managers {
			if data := owned(j); data != nil {
				if err := own(ctx, c.stage, c.kind, name, "", managerName(j), map[string]any{"data": data}); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// setData returns a copy of the intent that sets the given keys in the data of a ConfigMap to the given values.
func setData(intent compare.Intent, keys map[string]string) compare.Intent {
	intent.Wants = map[string]string{}
	for key, value := range keys {
		intent.Wants[dataField(key)] = value
	}
	intent.Modify = func(object *unstructured.Unstructured) error {
		for key, value := range keys {
			if err := unstructured.SetNestedField(object.Object, value, "data", key); err != nil {
				return err
			}
		}
		return nil
	}
	intent.Configure = configured(intent.Modify)
	intent.Replace = func(object *unstructured.Unstructured) error {
		return unstructured.SetNestedStringMap(object.Object, keys, "data")
	}
	return intent
}
