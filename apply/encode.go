package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// jsonConfig is a configuration as JSON. The same content has the same bytes.
type jsonConfig struct {
	kind reflect.Type // of the caller's configuration; nil for an unstructured one
	raw  []byte
}

// toJSON encodes a configuration. Unstructured content takes this way as well: it may
// hold what a deep copy panics on, such as an int.
func toJSON(configuration runtime.ApplyConfiguration) (jsonConfig, error) {
	config := reflect.ValueOf(configuration)
	if !config.IsValid() || config.Kind() != reflect.Pointer || config.IsNil() {
		return jsonConfig{}, fmt.Errorf("the configuration is %T, want a non-nil pointer", configuration)
	}
	kind, content := config.Type().Elem(), any(configuration)
	if holder, ok := configuration.(unstructuredHolder); ok {
		if holdsNothing(config.Elem()) {
			return jsonConfig{}, errors.New("the configuration holds a nil *unstructured.Unstructured")
		}
		kind, content = nil, holder.UnstructuredContent()
	}
	raw, err := json.Marshal(content)
	return jsonConfig{kind, raw}, err
}

// decode takes the content of a configuration.
func (e *encodedIntent) decode(config jsonConfig) error {
	e.kind, e.object = config.kind, nil
	return utiljson.Unmarshal(config.raw, &e.object)
}

// unstructuredHolder is what client.ApplyConfigurationFromUnstructured's private
// type has and typed configurations have not.
type unstructuredHolder interface {
	UnstructuredContent() map[string]any
}

func holdsNothing(holder reflect.Value) bool {
	if holder.Kind() != reflect.Struct {
		return false
	}
	held := holder.FieldByName("Unstructured")
	return held.IsValid() && held.Kind() == reflect.Pointer && held.IsNil()
}

// pin is what an apply is bound to; the zero value is none.
type pin struct {
	uid             types.UID
	resourceVersion string
}

// fresh gives a new value of the caller's own type. The client writes the
// server's answer into what it is given, so the caller's value must not be it; and
// a typed read waits for the writes of its own type only (read-your-writes).
func (e *encodedIntent) fresh(p pin) (runtime.ApplyConfiguration, error) {
	object := unstructured.Unstructured{Object: runtime.DeepCopyJSON(e.object)}
	if p.uid != "" {
		object.SetUID(p.uid)
	}
	if p.resourceVersion != "" {
		object.SetResourceVersion(p.resourceVersion)
	}
	if p.uid != "" && object.GetUID() != p.uid || p.resourceVersion != "" && object.GetResourceVersion() != p.resourceVersion {
		return nil, &IntentError{Object: e.ref, Err: errors.New("it cannot be pinned: its metadata is no object")}
	}
	if e.kind == nil {
		return client.ApplyConfigurationFromUnstructured(&object), nil
	}
	raw, err := json.Marshal(object.Object)
	if err != nil {
		return nil, &IntentError{Object: e.ref, Err: err}
	}
	config, ok := reflect.TypeAssert[runtime.ApplyConfiguration](reflect.New(e.kind))
	if !ok {
		return nil, &IntentError{Object: e.ref, Err: fmt.Errorf("*%v is no apply configuration", e.kind)}
	}
	if err := json.Unmarshal(raw, config); err != nil {
		return nil, &IntentError{Object: e.ref, Err: err}
	}
	return config, nil
}
