package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/wire"
)

// decode sets the intent's content and Go type from an encoded apply configuration.
func (e *encodedIntent) decode(config wire.Body) error {
	e.kind, e.object = config.Type, nil
	return utiljson.Unmarshal(config.JSON, &e.object)
}

// pin is the uid and the resourceVersion that an apply sends. If the object has another uid or
// resourceVersion, the API server refuses the apply. Empty values are not sent.
type pin struct {
	uid             types.UID
	resourceVersion string
}

// fresh returns the intent as a new apply configuration of the caller's Go type, pinned to p. The
// client writes the API server's response into the value that it sends, so that value must not be
// the caller's. The type stays the same because a typed read waits only for writes of its own type.
func (e *encodedIntent) fresh(p pin) (runtime.ApplyConfiguration, error) {
	object := unstructured.Unstructured{Object: runtime.DeepCopyJSON(e.object)}
	if p.uid != "" {
		object.SetUID(p.uid)
	}
	object.SetResourceVersion(p.resourceVersion)
	if e.kind == nil {
		return client.ApplyConfigurationFromUnstructured(&object), nil
	}
	raw, _ := json.Marshal(object.Object) // it came from JSON
	config, ok := reflect.TypeAssert[runtime.ApplyConfiguration](reflect.New(e.kind))
	if !ok {
		return nil, &IntentError{Object: e.ref, Err: fmt.Errorf("the type *%v is not an apply configuration", e.kind)}
	}
	if err := json.Unmarshal(raw, config); err != nil {
		return nil, &IntentError{Object: e.ref, Err: err}
	}
	return config, nil
}

// sentWhole reports whether the intent's Go type encodes all of its content. A typed configuration
// omits an empty map, such as a parent whose fields are all relinquished.
func (e *encodedIntent) sentWhole() bool {
	if e.kind == nil {
		return true
	}
	config, _ := e.fresh(pin{}) // after an error nil, which differs from e.object
	raw, _ := json.Marshal(config)
	var sent map[string]any
	return utiljson.Unmarshal(raw, &sent) == nil && reflect.DeepEqual(sent, e.object)
}

// refIn returns the reference of the object that a generated apply configuration names. It reads
// the Go fields, in a hundredth of the time of encoding. If the configuration is invalid or not a
// generated one, refIn returns false.
func refIn(configuration runtime.ApplyConfiguration) (ObjectRef, bool) {
	kind, metadata, ok := generatedFields(configuration)
	if !ok || metadata == nil || metadata.ResourceVersion != nil {
		return ObjectRef{}, false
	}
	ref, err := refTo(ptr.Deref(kind.APIVersion, ""), ptr.Deref(kind.Kind, ""), ptr.Deref(metadata.Namespace, ""),
		ptr.Deref(metadata.Name, ""), ptr.Deref(metadata.UID, ""))
	return ref, err == nil
}

// OwnerReferences returns the owner references that the intent sets, or an *IntentError.
func (i Intent) OwnerReferences() ([]metav1ac.OwnerReferenceApplyConfiguration, error) {
	if _, metadata, ok := generatedFields(i.Config); ok {
		if metadata == nil {
			return nil, nil
		}
		return metadata.OwnerReferences, nil
	}
	encoded, err := encode(Intent{Config: i.Config})
	if err != nil {
		return nil, err
	}
	var owners []metav1ac.OwnerReferenceApplyConfiguration
	set, _, _ := unstructured.NestedFieldNoCopy(encoded.object, "metadata", "ownerReferences")
	text, err := json.Marshal(set)
	if err == nil {
		err = json.Unmarshal(text, &owners)
	}
	if err != nil {
		return nil, &IntentError{Object: encoded.ref, Err: fmt.Errorf("metadata.ownerReferences: %w", err)}
	}
	return owners, nil
}

// generatedFields returns the kind fields and the metadata of a generated apply configuration.
// metadata is nil if the configuration sets none. ok is false if the configuration is not a
// generated one.
func generatedFields(configuration runtime.ApplyConfiguration) (kind *metav1ac.TypeMetaApplyConfiguration,
	metadata *metav1ac.ObjectMetaApplyConfiguration, ok bool) {
	config := reflect.ValueOf(configuration)
	if _, own := configuration.(json.Marshaler); own || config.Kind() != reflect.Pointer || config.IsNil() {
		return nil, nil, false
	}
	of := config.Elem()
	if of.Kind() != reflect.Struct || of.NumField() < 2 || of.Field(0).Type() != kindFields || of.Field(1).Type() != metadataFields {
		return nil, nil, false
	}
	kind, _ = reflect.TypeAssert[*metav1ac.TypeMetaApplyConfiguration](of.Field(0).Addr())
	metadata, _ = reflect.TypeAssert[*metav1ac.ObjectMetaApplyConfiguration](of.Field(1))
	return kind, metadata, true
}

var (
	kindFields     = reflect.TypeFor[metav1ac.TypeMetaApplyConfiguration]()
	metadataFields = reflect.TypeFor[*metav1ac.ObjectMetaApplyConfiguration]()
)

// WithLabel returns a copy of the intent with one more label. The Go type of its configuration stays
// the same. If the intent sets the label already, or is invalid, the error is an *IntentError.
func (i Intent) WithLabel(name, value string) (Intent, error) {
	labelled, err := withLabel(i.Config, name, value)
	switch {
	case errors.Is(err, ErrInvalidIntent):
		return i, err
	case err != nil:
		object, _ := i.Object() // withLabel has read the configuration
		return i, &IntentError{Object: object, Err: err}
	}
	i.Config = labelled
	return i, nil
}

// withLabel returns a copy of a configuration, of the same type, with one more label. It returns an
// error if the configuration has the label already. The copy shares all but its labels.
func withLabel(configuration runtime.ApplyConfiguration, name, value string) (runtime.ApplyConfiguration, error) {
	taken := fmt.Errorf("the intent sets the label %s itself; remove the label from the intent", name)
	if _, metadata, ok := generatedFields(configuration); ok && metadata != nil {
		if _, has := metadata.Labels[name]; has {
			return nil, taken
		}
		labelled := *metadata
		labelled.Labels = maps.Clone(metadata.Labels)
		labelled.WithLabels(map[string]string{name: value})
		config := reflect.ValueOf(configuration).Elem()
		other := reflect.New(config.Type())
		other.Elem().Set(config)
		other.Elem().Field(1).Set(reflect.ValueOf(&labelled))
		if applied, ok := reflect.TypeAssert[runtime.ApplyConfiguration](other); ok {
			return applied, nil
		}
	}
	encoded, err := encode(Intent{Config: configuration})
	if err != nil {
		return nil, err
	}
	if _, has, _ := unstructured.NestedFieldNoCopy(encoded.object, "metadata", "labels", name); has {
		return nil, taken
	}
	if err := unstructured.SetNestedField(encoded.object, value, "metadata", "labels", name); err != nil {
		return nil, err
	}
	return encoded.fresh(pin{})
}
