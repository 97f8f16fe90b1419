// Package applyconfig decodes and checks apply configurations, and makes the configurations that a client sends from
// them.
package applyconfig

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"coapply.dev/apply/internal/wire"
)

// Ref refers to an object, like apply.ObjectRef.
type Ref struct {
	schema.GroupVersionKind
	types.NamespacedName

	UID             types.UID
	ResourceVersion string
}

// Content is the content of an apply configuration as decoded JSON.
type Content struct {
	Fields map[string]any

	json   []byte       // the same as JSON; nil if Fields was changed after its decoding
	goType reflect.Type // of the configuration; nil for an unstructured one
}

// Decode returns the content of an apply configuration.
func Decode(configuration runtime.ApplyConfiguration) (Content, error) {
	body, err := wire.Encode(configuration)
	decoded := Content{json: body.JSON, goType: body.Type}
	if err == nil {
		err = utiljson.Unmarshal(body.JSON, &decoded.Fields)
	}
	return decoded, err
}

// With returns the content with other fields, for the same kind of configuration.
func (c Content) With(fields map[string]any) Content {
	return Content{Fields: fields, goType: c.goType}
}

// Kind returns the kind in the content.
func (c Content) Kind() schema.GroupVersionKind { return c.object().GroupVersionKind() }

func (c Content) object() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: c.Fields}
}

// Ref returns a reference to the object that the content names. It returns an error if the kind or the name is invalid,
// or if the content sets metadata that only the API server may set. The reference then contains the valid parts.
func (c Content) Ref() (Ref, error) {
	object := c.object()
	ref, err := refTo(object.GetAPIVersion(), object.GetKind(), object.GetNamespace(), object.GetName(), object.GetUID())
	if err == nil {
		err = c.refuseServerFields()
	}
	return ref, err
}

// refTo returns a reference to an object. If it returns an error, the reference contains the valid parts.
func refTo(apiVersion, kind, namespace, name string, uid types.UID) (Ref, error) {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return Ref{}, err
	}
	ref := Ref{
		GroupVersionKind: version.WithKind(kind),
		NamespacedName:   types.NamespacedName{Namespace: namespace, Name: name},
		UID:              uid,
	}
	switch {
	case ref.Kind == "" || ref.Version == "":
		return ref, errors.New("apiVersion and kind are needed; make the configuration with its constructor, such as appsv1ac.Deployment")
	case ref.Name == "":
		return ref, errors.New("metadata.name: a name is needed, because Server-Side Apply cannot generate names")
	case len(content.IsPathSegmentName(ref.Name)) > 0 || len(content.IsPathSegmentName(ref.Namespace)) > 0:
		return ref, fmt.Errorf("name %q in namespace %q cannot be part of a URL: neither may be . or .., or contain / or %%", ref.Name, ref.Namespace)
	}
	return ref, nil
}

// refuseServerFields returns an error if the content sets metadata that only the API server may set.
func (c Content) refuseServerFields() error {
	metadata, _ := c.Fields["metadata"].(map[string]any)
	switch {
	case metadata["managedFields"] != nil:
		return errors.New("the configuration has metadata.managedFields, so it was made from an object of the API server; build the configuration from scratch, with only the fields to own")
	case metadata["resourceVersion"] != nil:
		return errors.New("the configuration has metadata.resourceVersion; remove this field, because Apply itself adds a resourceVersion to each write that needs one")
	}
	return nil
}

// DecodeBody decodes the configuration that is sent to a subresource in place of c. The returned content has the name and the
// namespace of c, and c may set nothing else.
func (c Content) DecodeBody(configuration runtime.ApplyConfiguration) (Content, error) {
	for name := range c.Fields {
		if name != "apiVersion" && name != "kind" && name != "metadata" {
			return Content{}, fmt.Errorf("Intent.Config sets %s, but with Intent.Body set, Intent.Config may only name the object; remove the field from Intent.Config", name)
		}
	}
	body, err := Decode(configuration)
	if err != nil {
		return Content{}, fmt.Errorf("Intent.Body: %w", err)
	}
	if err := body.rename(c.object()); err != nil {
		return Content{}, err
	}
	if err := body.refuseServerFields(); err != nil {
		return Content{}, fmt.Errorf("Intent.Body: %w", err)
	}
	return body.With(body.Fields), nil
}

// rename gives the content of a body the name and the namespace of an object. It returns an error if the body already
// has another name, or has no kind.
func (c Content) rename(to *unstructured.Unstructured) error {
	if c.Fields["metadata"] == nil {
		delete(c.Fields, "metadata") // because SetName cannot set a name in a metadata that is null
	}
	object, kind := c.object(), c.Kind()
	_, isMap := c.Fields["metadata"].(map[string]any)
	switch {
	case !isMap && c.Fields["metadata"] != nil:
		return errors.New("Intent.Body: metadata is not a JSON object")
	case kind.Kind == "" || kind.Version == "":
		return errors.New("Intent.Body: apiVersion and kind are needed; make the body with its constructor, such as autoscalingv1ac.Scale")
	case object.GetName() != "" && object.GetName() != to.GetName():
		return fmt.Errorf("Intent.Body names another object than Intent.Config: %s", object.GetName())
	case object.GetNamespace() != "" && object.GetNamespace() != to.GetNamespace():
		return fmt.Errorf("Intent.Body names another namespace than Intent.Config: %s", object.GetNamespace())
	}
	object.SetName(to.GetName())
	object.SetNamespace(to.GetNamespace())
	return nil
}

// status is the name of a field and of the subresource through which the field is written.
const status = "status"

// CheckSubresource returns an error for a configuration that does not fit the subresource to which it is sent. For
// example, a configuration for the status subresource must set the status and no other field. Without a status, the
// apply would give up the whole status.
func (c Content) CheckSubresource(subresource string) error {
	empty, isMap := c.Fields[status].(map[string]any)
	switch {
	case subresource == "" && isMap && len(empty) == 0:
		return errors.New("the intent sets an empty status, probably because the intent was made from a typed object: " +
			"the apply would send all zero values of the typed object, and this field manager would own these fields; build the configuration with its constructor, " +
			"such as appsv1ac.Deployment, or remove the status from the manifest")
	case subresource != status:
		return nil
	case c.Fields[status] == nil:
		return errors.New("the intent is for the status subresource and sets no status; to give up the status, call Release")
	}
	for name := range c.Fields {
		if name != "apiVersion" && name != "kind" && name != "metadata" && name != status {
			return fmt.Errorf("the intent is for the status subresource and also sets %s; set %[1]s with another intent, for the object itself", name)
		}
	}
	return nil
}
