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

// writesClient is the manager's client that also records each write. Until the cache shows a recorded write, the cached
// object is not used to prove that an apply is a no-op. Failed writes are recorded too: such a write may have succeeded
// with its response lost, and an error such as a 404 may show that the cache is out of date. After a failed write, the
// resourceVersion of the object is unknown, and the next apply to the object is sent.
type writesClient struct {
	client.Client

	rt *Runtime
}

// writes returns the client for all writes by the Clients and the Updaters of the Runtime.
func (rt *Runtime) writes() client.Client { return &writesClient{rt.mgr.GetClient(), rt} }

func (c *writesClient) Create(ctx context.Context, object client.Object, opts ...client.CreateOption) error {
	return c.wrote(object, object, c.Client.Create(ctx, object, opts...))
}

func (c *writesClient) Update(ctx context.Context, object client.Object, opts ...client.UpdateOption) error {
	return c.wrote(object, object, c.Client.Update(ctx, object, opts...))
}

func (c *writesClient) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return c.wrote(object, object, c.Client.Patch(ctx, object, patch, opts...))
}

func (c *writesClient) Delete(ctx context.Context, object client.Object, opts ...client.DeleteOption) error {
	return c.wrote(object, nil, c.Client.Delete(ctx, object, opts...))
}

func (c *writesClient) DeleteAllOf(ctx context.Context, object client.Object, opts ...client.DeleteAllOfOption) error {
	err := c.Client.DeleteAllOf(ctx, object, opts...)
	if kind, kindErr := c.GroupVersionKindFor(object); kindErr == nil {
		options := (&client.DeleteAllOfOptions{}).ApplyOptions(opts)
		c.rt.steady.WroteAll(kind.GroupKind(), options.Namespace)
	}
	return err
}

func (c *writesClient) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	return c.applied(config, c.Client.Apply(ctx, config, opts...))
}

func (c *writesClient) Status() client.SubResourceWriter { return c.SubResource("status") }

func (c *writesClient) SubResource(name string) client.SubResourceClient {
	return &writesSubResource{c.Client.SubResource(name), c}
}

type writesSubResource struct {
	client.SubResourceClient

	writes *writesClient
}

func (s *writesSubResource) Create(ctx context.Context, object, body client.Object, opts ...client.SubResourceCreateOption) error {
	return s.writes.wrote(object, nil, s.SubResourceClient.Create(ctx, object, body, opts...))
}

func (s *writesSubResource) Update(ctx context.Context, object client.Object, opts ...client.SubResourceUpdateOption) error {
	answer := object
	if body := (&client.SubResourceUpdateOptions{}).ApplyOptions(opts).SubResourceBody; body != nil {
		answer = body
	}
	return s.writes.wrote(object, answer, s.SubResourceClient.Update(ctx, object, opts...))
}

func (s *writesSubResource) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	answer := object
	if body := (&client.SubResourcePatchOptions{}).ApplyOptions(opts).SubResourceBody; body != nil {
		answer = body
	}
	return s.writes.wrote(object, answer, s.SubResourceClient.Patch(ctx, object, patch, opts...))
}

func (s *writesSubResource) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	return s.writes.applied(config, s.SubResourceClient.Apply(ctx, config, opts...))
}

// wrote records a write to an object, and returns the given error of the write. answer is the decoded response of the
// API server, or nil if the response does not contain the object's resourceVersion. The resourceVersion of an object
// that is being deleted is not recorded. After the removal of the last finalizer, the object no longer exists, but the
// response still contains the old resourceVersion.
func (c *writesClient) wrote(object, answer client.Object, err error) error {
	kind, kindErr := c.GroupVersionKindFor(object)
	if kindErr != nil {
		return err // no request was sent, because the client does not know the kind
	}
	ref := apply.ObjectRef{GroupVersionKind: kind, NamespacedName: client.ObjectKeyFromObject(object)}
	if err == nil && answer != nil && answer.GetDeletionTimestamp() == nil {
		ref.ResourceVersion = answer.GetResourceVersion()
	}
	c.rt.steady.Wrote(ref)
	return err
}

// applied records an apply that was sent without an Applier, and returns the given error of the apply.
func (c *writesClient) applied(config runtime.ApplyConfiguration, err error) error {
	ref := objectOf(config)
	if err != nil {
		ref.ResourceVersion = ""
	}
	c.rt.steady.Wrote(ref)
	return err
}

// Patch implements client.Client. It handles a patch of type apply like an Apply.
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

// contentOf returns the decoded content of an apply patch, which is JSON or YAML. It returns nil if the content is
// malformed, or is for an object other than the patched object. The caller then sends the patch unchanged, so that the
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
		return fmt.Errorf("coapply: encoding the API server's response: %w", err)
	}
	reflect.ValueOf(object).Elem().SetZero()
	return json.Unmarshal(encoded, object)
}
