package applytest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// call is a call that was made, with what answers and matches need.
type call struct {
	Call

	kind     schema.GroupVersionKind
	resource schema.GroupResource
	uid      types.UID      // in the request
	body     map[string]any // of an apply
	manager  string         // of an apply, if the call names it
}

// callOn returns the call of a verb with an object.
func (f *Faulty) callOn(verb Verb, object client.Object) call {
	made := f.callTo(verb, object, client.ObjectKeyFromObject(object))
	made.uid = object.GetUID()
	return made
}

// callTo returns the call of a verb with a key of its own. A kind that the scheme does not know
// stays empty; the wrapped client returns an error for it.
func (f *Faulty) callTo(verb Verb, object runtime.Object, key types.NamespacedName) call {
	made := call{Call: Call{Verb: verb, Namespace: key.Namespace, Name: key.Name}}
	kind, _ := f.GroupVersionKindFor(object)
	if meta.IsListType(object) {
		kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	}
	made.name(kind, f.RESTMapper())
	return made
}

// callWith returns the call of an apply by a manager.
func (f *Faulty) callWith(config runtime.ApplyConfiguration, manager string) call {
	made := call{Call: Call{Verb: VerbApply}, manager: manager}
	made.carry(json.Marshal(config))
	object := unstructured.Unstructured{Object: made.body}
	made.Namespace, made.Name = object.GetNamespace(), object.GetName()
	made.name(object.GroupVersionKind(), f.RESTMapper())
	return made
}

// carry sets the body of an apply, in JSON or YAML. A body that is no object stays empty; the
// wrapped client returns an error for it.
func (c *call) carry(raw []byte, _ error) {
	raw, _ = yaml.YAMLToJSON(raw)
	var object unstructured.Unstructured
	_ = utiljson.Unmarshal(raw, &object.Object)
	c.uid, c.body = object.GetUID(), object.Object
}

// name sets the kind and its resource, which is guessed if the mapper does not know the kind.
func (c *call) name(kind schema.GroupVersionKind, mapper meta.RESTMapper) {
	c.kind, c.Kind = kind, kind.Kind
	guess, _ := meta.UnsafeGuessKindToResource(kind)
	c.resource = guess.GroupResource()
	if mapper == nil { // of a client written by hand
		return
	}
	if mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version); err == nil {
		c.resource = mapping.Resource.GroupResource()
	}
}

func verbOfPatch(patch types.PatchType) Verb {
	switch patch {
	case types.ApplyYAMLPatchType, types.ApplyCBORPatchType:
		return VerbApply
	}
	return VerbPatch
}

func isTrue(b *bool) bool { return b != nil && *b }

func copyObject(object client.Object) (client.Object, error) {
	return object.DeepCopyObject().(client.Object), nil
}

// copyConfig returns a configuration of the same type.
func copyConfig(config runtime.ApplyConfiguration) (runtime.ApplyConfiguration, error) {
	raw, _ := json.Marshal(config) // what cannot be written cannot be read below
	if _, ok := config.(interface{ UnstructuredContent() map[string]any }); ok {
		object := &unstructured.Unstructured{}
		return client.ApplyConfigurationFromUnstructured(object), object.UnmarshalJSON(raw)
	}
	t := reflect.TypeOf(config)
	if t == nil || t.Kind() != reflect.Pointer {
		return nil, fmt.Errorf("%T is no pointer to an apply configuration", config)
	}
	other := reflect.New(t.Elem()).Interface().(runtime.ApplyConfiguration)
	return other, json.Unmarshal(raw, other)
}
