// Package wire is what several packages need of the way to the API server.
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

// Encode encodes a configuration. Unstructured content takes this way as well: it may
// hold what a deep copy panics on, such as an int.
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

// Unstructured is what client.ApplyConfigurationFromUnstructured's private type has and
// typed configurations have not.
type Unstructured interface {
	UnstructuredContent() map[string]any
}

// HoldsNothing reports whether what stands for an unstructured object has none.
func HoldsNothing(holder reflect.Value) bool {
	if holder.Kind() != reflect.Struct {
		return false
	}
	held := holder.FieldByName("Unstructured")
	return held.Kind() == reflect.Pointer && held.IsNil()
}
