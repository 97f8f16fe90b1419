package coapply

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"coapply.dev/apply"
)

// Patch implements client.Client. It handles a patch of type apply as Apply does.
func (c *applyingClient) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if patch.Type() != types.ApplyPatchType {
		return c.Client.Patch(ctx, object, patch, opts...)
	}
	data, err := patch.Data(object)
	if err != nil {
		return err
	}
	options := (&client.PatchOptions{}).ApplyOptions(opts)
	content := c.contentOf(data, object)
	if content == nil || !hasApplyOptionsOnly(options) {
		return c.Client.Patch(ctx, object, client.RawPatch(types.ApplyPatchType, data), opts...)
	}
	config := client.ApplyConfigurationFromUnstructured(content)
	if err := c.apply(ctx, apply.Intent{Config: config}, applyOptions(options)); err != nil {
		return err
	}
	return decodeInto(object, content)
}

// Patch implements client.SubResourceClient.
func (s *applyingSubResource) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	if patch.Type() != types.ApplyPatchType {
		return s.SubResourceClient.Patch(ctx, object, patch, opts...)
	}
	options := (&client.SubResourcePatchOptions{}).ApplyOptions(opts)
	into := object
	if options.SubResourceBody != nil {
		into = options.SubResourceBody
	}
	data, err := patch.Data(into)
	if err != nil {
		return err
	}
	content := s.client.contentOf(data, into)
	if content == nil || !hasApplyOptionsOnly(&options.PatchOptions) {
		return s.SubResourceClient.Patch(ctx, object, client.RawPatch(types.ApplyPatchType, data), opts...)
	}
	intent := apply.Intent{Config: client.ApplyConfigurationFromUnstructured(content), Subresource: s.name}
	if options.SubResourceBody != nil {
		kind, err := s.client.GroupVersionKindFor(object)
		if err != nil {
			return err
		}
		intent.Body, content = intent.Config, named(kind, object)
		intent.Config = client.ApplyConfigurationFromUnstructured(content)
	}
	if err := s.client.apply(ctx, intent, applyOptions(&options.PatchOptions)); err != nil {
		return err
	}
	return decodeInto(into, content)
}

func named(kind schema.GroupVersionKind, object client.Object) *unstructured.Unstructured {
	content := &unstructured.Unstructured{}
	content.SetGroupVersionKind(kind)
	content.SetNamespace(object.GetNamespace())
	content.SetName(object.GetName())
	return content
}

// contentOf returns the content of a patch, which is JSON or YAML. It returns nil if the content
// cannot be parsed or does not name the object to patch. Such a patch is sent unchanged, and the
// API server returns the error.
func (c *applyingClient) contentOf(data []byte, object client.Object) *unstructured.Unstructured {
	asJSON, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil
	}
	content := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(asJSON, &content.Object); err != nil {
		return nil
	}
	kind, err := c.GroupVersionKindFor(object)
	if err != nil || content.GroupVersionKind() != kind || client.ObjectKeyFromObject(content) != client.ObjectKeyFromObject(object) {
		return nil
	}
	return content
}

// hasApplyOptionsOnly reports whether Apply supports all the given options of a patch.
func hasApplyOptionsOnly(options *client.PatchOptions) bool {
	return options.Raw == nil && options.FieldValidation == ""
}

func applyOptions(options *client.PatchOptions) client.ApplyOptions {
	return client.ApplyOptions{
		DryRun: options.DryRun, Force: options.Force, FieldManager: options.FieldManager,
		DisableReadYourWritesConsistency: options.DisableReadYourWritesConsistency,
	}
}

// decodeInto replaces the content of an object with the content of the API server's response.
func decodeInto(object client.Object, content *unstructured.Unstructured) error {
	if raw, ok := object.(runtime.Unstructured); ok {
		raw.SetUnstructuredContent(content.Object)
		return nil
	}
	encoded, err := json.Marshal(content.Object)
	if err != nil {
		return fmt.Errorf("coapply: the answer: %w", err)
	}
	reflect.ValueOf(object).Elem().SetZero()
	return json.Unmarshal(encoded, object)
}
