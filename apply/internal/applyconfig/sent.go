package applyconfig

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/wire"
)

// Fresh returns the content as a new apply configuration for the object that ref names, pinned to a uid and a
// resourceVersion. They are sent as metadata: if the object has another uid or resourceVersion, the API server refuses
// the apply. Empty values are not sent.
//
// The configuration must be new, because the client overwrites it with the API server's response. It is typed if the
// caller's configuration is typed, because of the client's read-your-writes consistency: a typed read from the cache
// waits only for typed writes.
func (c Content) Fresh(ref Ref, pin wire.Identity) runtime.ApplyConfiguration {
	if c.goType != nil && c.json != nil && pin == (wire.Identity{}) {
		return &typedConfig{ref: ref, json: c.json}
	}
	object := unstructured.Unstructured{Object: runtime.DeepCopyJSON(c.Fields)}
	if pin.UID != "" {
		object.SetUID(pin.UID)
	}
	object.SetResourceVersion(pin.ResourceVersion)
	if c.goType == nil {
		return client.ApplyConfigurationFromUnstructured(&object)
	}
	encoded, _ := json.Marshal(object.Object) // no error, because the content was decoded from JSON
	return &typedConfig{ref: ref, json: encoded}
}

// typedConfig is a typed apply configuration as JSON. A client encodes it as the request, and decodes the API server's
// response into it. The response is not decoded into the Go type of the caller's configuration, because that type lacks
// the managed fields.
type typedConfig struct {
	// ResourceVersion is the resourceVersion in the response. The read-your-writes consistency of controller-runtime's
	// client looks for a field with this name.
	ResourceVersion *string

	ref      Ref
	json     []byte // the configuration, and then the response
	response wire.Object
	head     wire.Head // of the response
}

func (*typedConfig) IsApplyConfiguration() {}

func (c *typedConfig) GetAPIVersion() *string { return new(c.ref.GroupVersion().String()) }

func (c *typedConfig) GetKind() *string { return &c.ref.Kind }

func (c *typedConfig) GetNamespace() *string { return &c.ref.Namespace }

func (c *typedConfig) GetName() *string { return &c.ref.Name }

// WithNamespace is called by a client for one namespace, which has checked that the configuration has this namespace.
func (c *typedConfig) WithNamespace(string) *typedConfig { return c }

func (c *typedConfig) MarshalJSON() ([]byte, error) { return c.json, nil }

func (c *typedConfig) UnmarshalJSON(response []byte) (err error) {
	c.json, c.response = slices.Clone(response), nil
	if err = json.Unmarshal(c.json, &c.response); err == nil {
		c.head, err = c.response.Head()
	}
	c.ResourceVersion = &c.head.ResourceVersion
	return err
}

// Response is the API server's response to a configuration from Fresh.
type Response struct {
	decoded runtime.ApplyConfiguration
	head    *wire.Head // of an unstructured response, computed once
}

// ResponseIn returns the Response that a client has decoded into a configuration.
func ResponseIn(decoded runtime.ApplyConfiguration) *Response { return &Response{decoded: decoded} }

// Object returns the object in the response, with its managed fields.
func (r *Response) Object() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	switch decoded := r.decoded.(type) {
	case wire.Unstructured:
		object.Object = decoded.UnstructuredContent()
	case *typedConfig:
		_ = utiljson.Unmarshal(decoded.json, &object.Object) // no error, because the client has decoded the response
	}
	return object
}

// Part returns the values in the response of the given fields, which were sent. Values of other fields may be left out.
func (r *Response) Part(sent map[string]any) map[string]any {
	if decoded, ok := r.decoded.(*typedConfig); ok {
		return decoded.response.Part(sent)
	}
	return r.Object().Object
}

// Head returns the uid, resourceVersion and managed fields in the response.
func (r *Response) Head() wire.Head {
	if decoded, ok := r.decoded.(*typedConfig); ok {
		return decoded.head
	}
	if r.head == nil {
		object := r.Object()
		found := wire.Identity{UID: object.GetUID(), ResourceVersion: object.GetResourceVersion()}
		r.head = &wire.Head{Identity: found, ManagedFields: object.GetManagedFields()}
	}
	return *r.head
}
