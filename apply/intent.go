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

// Intent is an apply configuration and how to apply it. The Applier's policy settles its
// conflicts.
type Intent struct {
	// Config holds every field that the manager wants to own, and no other. It is one of
	// client-go's or controller-gen's apply configurations, or an unstructured one from
	// client.ApplyConfigurationFromUnstructured. Config is not written to and may be used
	// again.
	Config runtime.ApplyConfiguration

	// MustExist is for an object that someone else creates: the intent is pinned to the uid of
	// the object in the cache. If the cache has none, it is read from the API server, and if
	// there is none either, the Outcome is Absent. Partial intents need MustExist: the server
	// cannot create a whole object from them, and a late apply would bring back an object that
	// was deleted.
	MustExist bool

	// Belongs reports whether an object that exists is the caller's. If it is, the intent is
	// applied, pinned to the object's uid; if not, the error is a NotOursError and nothing is
	// written, or, with MustExist, the Outcome is Absent. An object that the cache does not
	// have is created exclusively: one that somebody else makes at the same moment is not
	// adopted, and so not deleted later with what is in it. nil adopts whatever object has the
	// name, as Server-Side Apply does.
	//
	// Belongs is given the object from the cache or from a live read, in the Go type that the
	// client's scheme has for the kind, or as unstructured if it has none. The live read
	// happens if the cache has somebody else's object or does not have the kind. Belongs must
	// not write to the object, and cannot be combined with Subresource.
	Belongs func(object client.Object) bool

	// UID pins the intent to one object, as a uid in Config does: if another object has its
	// name now, or none, nothing is written and the error is a UIDMismatchError. (With
	// MustExist, and none, the Outcome is Absent.)
	UID types.UID

	// Subresource is the subresource that is written, such as "status"; "" is the object
	// itself. Nothing is created through a subresource: if there is no object, the Outcome is
	// Absent. If the kind has a status subresource and an intent sets a status without naming
	// it here, the server drops the status, and Apply returns a RefusedError after the rest has
	// landed.
	Subresource string

	// Body is sent if the subresource has a kind of its own, such as autoscalingv1ac.Scale()
	// for "scale". Config then only names the object. The response has no managed fields. So an
	// intent that relinquishes or shares the field takes three requests each time. (Kubernetes 1.36
	// and 1.37 answer 500 to an apply of a changed scale to a custom resource; apply the replica
	// field to the object itself.)
	Body runtime.ApplyConfiguration

	// Read is the object as the caller has just read it from its cache: typed, unstructured or,
	// for intents of metadata alone, metadata only. The steady-state check judges by Read
	// instead of reading the object. Read is not written to. Read must be at least as new as the
	// event that led to the apply: it is not compared with other informers of the kind.
	Read client.Object
}

// encodedIntent is an intent as it is sent and compared.
type encodedIntent struct {
	Intent // as the caller gave it

	ref      ObjectRef // with the uid that the caller pins the intent to, if any
	object   map[string]any
	kind     reflect.Type            // of the caller's configuration; nil for an unstructured one
	bodyKind schema.GroupVersionKind // of object, where that is a Body
}

// encode is step 1: JSON once, and everything refused that no server should see.
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
		err = errors.New("Belongs is for the object itself, and the intent is for a subresource of it")
	}
	if err == nil && intent.Body != nil {
		err = encoded.replaceByBody(intent.Body)
	}
	if err == nil {
		err = encoded.checkSubresource()
	}
	if err == nil && intent.Read != nil && !isRead(intent.Read, encoded.ref) {
		err = errors.New("Read is another object, or none; leave it out where there is none")
	}
	if err != nil {
		return nil, &IntentError{Object: encoded.ref, Err: err}
	}
	return encoded, nil
}

// Object returns the reference of the intent's object, as Release and package ownership take
// it. The error is an *IntentError. Only what names the object is checked: Apply may find more
// to refuse.
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

// checkSubresource refuses a status intent without a status, which would give up the whole
// status, or with fields beside the status.
func (e *encodedIntent) checkSubresource() error {
	switch {
	case len(content.IsPathSegmentName(e.Subresource)) > 0:
		return fmt.Errorf("subresource %q cannot be part of a URL", e.Subresource)
	case e.Subresource == "" && isEmptyMap(e.object[statusSubresource]):
		return errors.New("it sets an empty status, as a typed object does that was converted into a configuration: " +
			"its zero values are sent, and this field manager owns them; build the configuration by its constructor, such as appsv1ac.Deployment, " +
			"or take the status out of the manifest")
	case e.Subresource != statusSubresource || e.hasBody():
		return nil
	case e.object[statusSubresource] == nil:
		return errors.New("it is for the status, and sets none; to give a status up, Release it")
	}
	for name := range e.object {
		if name != "apiVersion" && name != "kind" && name != "metadata" && name != statusSubresource {
			return fmt.Errorf("it is for the status, and sets %s as well: that is an intent of its own", name)
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
		return fmt.Errorf("two uids: %s as UID and %s in the configuration", uid, e.ref.UID)
	}
	e.ref.UID = cmp.Or(uid, e.ref.UID)
	return nil
}

// replaceByBody makes the body what is sent to the object that Config names.
func (e *encodedIntent) replaceByBody(body runtime.ApplyConfiguration) error {
	if e.Subresource == "" {
		return errors.New("it has a Body and no Subresource to send it to")
	}
	for name := range e.object {
		if name != "apiVersion" && name != "kind" && name != "metadata" {
			return fmt.Errorf("with a Body the configuration only names the object; it sets %s", name)
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
		delete(e.object, "metadata") // a null one could not be given a name and a pin
	}
	object := unstructured.Unstructured{Object: e.object}
	e.bodyKind = object.GroupVersionKind()
	metadata, isMap := e.object["metadata"].(map[string]any)
	switch {
	case !isMap && e.object["metadata"] != nil:
		return errors.New("the body: its metadata is no object")
	case e.bodyKind.Kind == "" || e.bodyKind.Version == "":
		return errors.New("the body: apiVersion and kind are needed; use the configuration's constructor")
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

// with returns the intent with this content.
func (e *encodedIntent) with(object map[string]any) *encodedIntent {
	other := *e
	other.object = object
	return &other
}

// through returns the intent for another subresource; "" is the object itself.
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

// refTo returns the reference of an intent's object. Together with an error it returns what is
// known.
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
		return ref, errors.New("apiVersion and kind are needed; use the configuration's constructor")
	case ref.Name == "":
		return ref, errors.New("a name is needed; apply cannot generate one")
	case len(content.IsPathSegmentName(ref.Name)) > 0 || len(content.IsPathSegmentName(ref.Namespace)) > 0:
		return ref, fmt.Errorf("name %q in namespace %q cannot be part of a URL", ref.Name, ref.Namespace)
	}
	return ref, nil
}

// refuseServerFields returns an error for metadata that only the server writes.
func refuseServerFields(metadata map[string]any) error {
	switch {
	case metadata["managedFields"] != nil:
		return errors.New("it carries metadata.managedFields, so it is a server's answer or a read object; build it from scratch")
	case metadata["resourceVersion"] != nil:
		return errors.New("it carries metadata.resourceVersion; an apply that is not forced is not protected by it, and a forced one is pinned here")
	}
	return nil
}
