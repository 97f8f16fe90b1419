package apply

import (
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/wire"
)

// decode sets the intent's content and kind from a configuration.
func (e *encodedIntent) decode(config wire.Body) error {
	e.kind, e.object = config.Type, nil
	return utiljson.Unmarshal(config.JSON, &e.object)
}

// pin is what an apply is pinned to; the zero value pins it to nothing.
type pin struct {
	uid             types.UID
	resourceVersion string
}

// fresh returns the configuration as a new value of the caller's own type. The client writes
// the server's answer into the value that it sends, so that must not be the caller's. The type
// stays because a typed read waits for writes of its own type only (read-your-writes).
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
		return nil, &IntentError{Object: e.ref, Err: fmt.Errorf("*%v is no apply configuration", e.kind)}
	}
	if err := json.Unmarshal(raw, config); err != nil {
		return nil, &IntentError{Object: e.ref, Err: err}
	}
	return config, nil
}

// sentWhole reports whether what is left of an intent is sent as it is. Where a field gave way,
// its parent may be empty, and a typed configuration leaves out an empty map.
func (e *encodedIntent) sentWhole() bool {
	if e.kind == nil {
		return true
	}
	config, _ := e.fresh(pin{}) // nil, which differs, if it cannot be sent
	raw, _ := json.Marshal(config)
	var sent map[string]any
	return utiljson.Unmarshal(raw, &sent) == nil && reflect.DeepEqual(sent, e.object)
}
