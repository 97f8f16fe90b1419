package apply

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/wire"
)

// Intent is an apply configuration for one object, and how to apply it. The Applier's Policy
// decides the ownership conflicts.
type Intent struct {
	// Config holds every field that the manager wants to own, and no other field. It is an apply
	// configuration of client-go or controller-gen, or an unstructured one from
	// client.ApplyConfigurationFromUnstructured. Apply does not write to Config, so it can be reused.
	Config runtime.ApplyConfiguration

	// MustExist is for an object that someone else creates: the intent is pinned to the uid of the
	// cached object. If the cache does not have the object, Apply reads it from the API server. If the
	// object does not exist there either, the Outcome is Absent. An intent with only some of an
	// object's required fields needs MustExist: the API server cannot create an object from it, and a
	// late apply would recreate a deleted object.
	MustExist bool

	// Belongs reports whether an existing object belongs to the caller. If it returns true, the
	// intent is applied, pinned to the object's uid. If it returns false, nothing is written, and the
	// error is a NotOursError or, with MustExist, the Outcome is Absent. An object that the cache
	// does not have is created exclusively: an object that somebody else creates at the same moment
	// is not adopted, and so not deleted later. If Belongs is nil, Apply adopts any object that has
	// the name, as Server-Side Apply does.
	//
	// Belongs gets the object from the cache or from a live read, in the Go type that the client's
	// scheme has for the kind, and otherwise as unstructured. The live read happens if Belongs
	// rejects the cached object, or if the kind is not cached. Belongs must not write to the object,
	// and cannot be combined with Subresource.
	Belongs func(object client.Object) bool

	// UID pins the intent to one object, as a uid in Config does. If the object was deleted or
	// recreated, nothing is written and the error is a UIDMismatchError. (With MustExist, the Outcome
	// is Absent if no object has the name.)
	UID types.UID

	// Subresource is the subresource to write, such as "status"; "" is the object itself. Nothing is
	// created through a subresource: if the object does not exist, the Outcome is Absent. If the kind
	// has a status subresource, and an intent sets a status without this Subresource, the API server
	// drops the status and writes the other fields. Apply then returns a RefusedError.
	Subresource string

	// Body is the configuration to send if the subresource has a kind of its own, such as
	// autoscalingv1ac.Scale() for "scale". Config then only names the object. The response has no
	// managed fields, so an intent that relinquishes or shares the field takes three requests each
	// time. (Kubernetes 1.36 and 1.37 answer 500 to an apply of a changed scale to a custom resource;
	// apply the replica field to the object itself.)
	Body runtime.ApplyConfiguration

	// Read is the object as the caller has just read it from its cache: typed, unstructured or, for
	// intents of metadata alone, metadata only. The no-op check uses Read instead of reading the
	// object again, and does not write to it. Read must be at least as new as the event that led to
	// the apply: it is not compared with other informers of the kind.
	Read client.Object
}

// encodedIntent is an intent with its content as decoded JSON.
type encodedIntent struct {
	Intent // as the caller gave it

	ref      ObjectRef               // with the uid, if the caller pins the intent to one
	object   map[string]any          // the content of Config, or of Body
	kind     reflect.Type            // the Go type of the configuration; nil for an unstructured one
	bodyKind schema.GroupVersionKind // the kind of Body; empty if there is none
}

// encode decodes the content of an intent. For an invalid intent it returns an IntentError.
func encode(intent Intent) (*encodedIntent, error) {
	encoded := &encodedIntent{Intent: intent}
	config, err := wire.Encode(intent.Config)
	if err == nil {
		err = encoded.decode(config)
	}
	if err == nil {
		err = encoded.identify()
	}
	if err == nil {
		err = encoded.pinTo(intent.UID)
	}
	if err == nil && intent.Belongs != nil && intent.Subresource != "" {
		err = errors.New("the intent has a Subresource and Belongs, which cannot be combined; leave Belongs out")
	}
	if err == nil && intent.Body != nil {
		err = encoded.replaceByBody(intent.Body)
	}
	if err == nil {
		err = encoded.checkSubresource()
	}
	if err == nil && intent.Read != nil && !isRead(intent.Read, encoded.ref) {
		err = errors.New("Intent.Read has another name than the intent's object, or is a nil pointer; leave Read out if the cache has no object")
	}
	if err != nil {
		return nil, &IntentError{Object: encoded.ref, Err: err}
	}
	return encoded, nil
}

// Object returns a reference to the intent's object, for Release and package ownership. The error
// is an *IntentError. Object checks only the name and the kind, and Apply may reject the intent.
func (i Intent) Object() (ObjectRef, error) {
	if ref, ok := refIn(i.Config); ok && (i.UID == "" || ref.UID == "" || i.UID == ref.UID) {
		ref.UID = cmp.Or(i.UID, ref.UID)
		return ref, nil
	}
	encoded, err := encode(i)
	if err != nil {
		return ObjectRef{}, err
	}
	return encoded.ref, nil
}

// checkSubresource rejects a status intent without a status, which would give up the whole status,
// and a status intent with other fields.
func (e *encodedIntent) checkSubresource() error {
	switch {
	case len(content.IsPathSegmentName(e.Subresource)) > 0:
		return fmt.Errorf("subresource %q cannot be part of a URL", e.Subresource)
	case e.Subresource == "" && isEmptyMap(e.object[statusSubresource]):
		return errors.New("the intent sets an empty status, as a typed object does that was converted into a configuration: " +
			"the object's zero values are sent, and this field manager owns them; build the configuration by its constructor, such as appsv1ac.Deployment, " +
			"or remove the status from the manifest")
	case e.Subresource != statusSubresource || e.hasBody():
		return nil
	case e.object[statusSubresource] == nil:
		return errors.New("the intent is for the status subresource and sets no status; to give up the status, call Release")
	}
	for name := range e.object {
		if name != "apiVersion" && name != "kind" && name != "metadata" && name != statusSubresource {
			return fmt.Errorf("the intent is for the status subresource and also sets %s; set %[1]s with another intent, for the object itself", name)
		}
	}
	return nil
}

const statusSubresource = "status"

func isEmptyMap(value any) bool {
	fields, isMap := value.(map[string]any)
	return isMap && len(fields) == 0
}

func (e *encodedIntent) pinTo(uid types.UID) error {
	if uid != "" && e.ref.UID != "" && uid != e.ref.UID {
		return fmt.Errorf("two uids: Intent.UID is %s and the uid in the configuration is %s; give one of them", uid, e.ref.UID)
	}
	e.ref.UID = cmp.Or(uid, e.ref.UID)
	return nil
}

// replaceByBody replaces the fields of Intent.Config by those of Intent.Body. The kind and the name stay.
func (e *encodedIntent) replaceByBody(body runtime.ApplyConfiguration) error {
	if e.Subresource == "" {
		return errors.New("the intent has a Body and no Subresource to which the Body is sent; set Subresource")
	}
	for name := range e.object {
		if name != "apiVersion" && name != "kind" && name != "metadata" {
			return fmt.Errorf("with a Body the configuration only names the object, and this configuration also sets %s", name)
		}
	}
	config, err := wire.Encode(body)
	if err == nil {
		err = e.decode(config)
	}
	if err != nil {
		return fmt.Errorf("the body: %w", err)
	}
	if e.object["metadata"] == nil {
		delete(e.object, "metadata") // SetName could not write into a null metadata
	}
	object := unstructured.Unstructured{Object: e.object}
	e.bodyKind = object.GroupVersionKind()
	metadata, isMap := e.object["metadata"].(map[string]any)
	switch {
	case !isMap && e.object["metadata"] != nil:
		return errors.New("the body: metadata is not a JSON object")
	case e.bodyKind.Kind == "" || e.bodyKind.Version == "":
		return errors.New("the body: apiVersion and kind are needed; make the body with its constructor, such as autoscalingv1ac.Scale")
	case object.GetName() != "" && object.GetName() != e.ref.Name:
		return fmt.Errorf("the body names another object, %s", object.GetName())
	case object.GetNamespace() != "" && object.GetNamespace() != e.ref.Namespace:
		return fmt.Errorf("the body names another namespace, %s", object.GetNamespace())
	}
	object.SetName(e.ref.Name)
	object.SetNamespace(e.ref.Namespace)
	if err := refuseServerFields(metadata); err != nil {
		return fmt.Errorf("the body: %w", err)
	}
	return nil
}

func (e *encodedIntent) hasBody() bool { return !e.bodyKind.Empty() }

// with returns a copy of the intent whose content is object.
func (e *encodedIntent) with(object map[string]any) *encodedIntent {
	other := *e
	other.object = object
	return &other
}

// through returns a copy of the intent that writes to a subresource; "" is the object itself.
func (e *encodedIntent) through(subresource string) *encodedIntent {
	other := *e
	other.Subresource = subresource
	return &other
}

func (e *encodedIntent) identify() (err error) {
	object := unstructured.Unstructured{Object: e.object}
	e.ref, err = refTo(object.GetAPIVersion(), object.GetKind(), object.GetNamespace(), object.GetName(), object.GetUID())
	if err != nil {
		return err
	}
	metadata, _, _ := unstructured.NestedMap(e.object, "metadata")
	return refuseServerFields(metadata)
}

// refTo returns a reference to an object. With an error, the reference has the known parts.
func refTo(apiVersion, kind, namespace, name string, uid types.UID) (ObjectRef, error) {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return ObjectRef{}, err
	}
	ref := ObjectRef{
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
		return ref, fmt.Errorf("name %q in namespace %q cannot be part of a URL", ref.Name, ref.Namespace)
	}
	return ref, nil
}

// refuseServerFields returns an error for metadata that only the API server may set.
func refuseServerFields(metadata map[string]any) error {
	switch {
	case metadata["managedFields"] != nil:
		return errors.New("the configuration has metadata.managedFields, as an object from the API server has; build the configuration from scratch")
	case metadata["resourceVersion"] != nil:
		return errors.New("the configuration has metadata.resourceVersion; leave it out: an unforced apply does not need it, and Apply sets it in a forced apply")
	}
	return nil
}
