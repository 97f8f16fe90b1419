// Package wire has what several packages need to talk to the API server: encoded
// configurations, recorded requests, classes of answers, tries, and rewritten managed fields.
package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// Body is a configuration as JSON. The same content has the same bytes.
type Body struct {
	Type reflect.Type // of the caller's configuration; nil for an unstructured one
	JSON []byte
}

// Encode encodes a configuration. Unstructured content is encoded as well, as it may hold
// values on which a deep copy panics, such as an int.
func Encode(configuration runtime.ApplyConfiguration) (Body, error) {
	config := reflect.ValueOf(configuration)
	if config.Kind() != reflect.Pointer || config.IsNil() {
		return Body{}, fmt.Errorf("the configuration is %T, want a non-nil pointer", configuration)
	}
	of, content := config.Type().Elem(), any(configuration)
	if holder, ok := configuration.(Unstructured); ok {
		if HoldsNothing(config.Elem()) {
			return Body{}, errors.New("the configuration holds a nil *unstructured.Unstructured")
		}
		of, content = nil, holder.UnstructuredContent()
	}
	raw, err := json.Marshal(content)
	return Body{of, raw}, err
}

// Unstructured is implemented by the private type of client.ApplyConfigurationFromUnstructured,
// and not by typed configurations.
type Unstructured interface {
	UnstructuredContent() map[string]any
}

// HoldsNothing reports whether the private type of client.ApplyConfigurationFromUnstructured
// holds no object.
func HoldsNothing(holder reflect.Value) bool {
	if holder.Kind() != reflect.Struct {
		return false
	}
	held := holder.FieldByName("Unstructured")
	return held.Kind() == reflect.Pointer && held.IsNil()
}
