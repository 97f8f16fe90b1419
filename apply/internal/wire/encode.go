// Package wire provides helpers for packages that send requests to the API server. They encode apply configurations,
// record requests, classify errors, and repeat attempts.
package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// Body is an apply configuration as JSON. Equal apply configurations have equal JSON.
type Body struct {
	Type reflect.Type // the Go type of the apply configuration; nil if it is unstructured
	JSON []byte
}

// Encode encodes an apply configuration as JSON. Unstructured content is encoded without a copy, because DeepCopyJSON
// panics on values such as an int.
func Encode(configuration runtime.ApplyConfiguration) (Body, error) {
	config := reflect.ValueOf(configuration)
	if config.Kind() != reflect.Pointer || config.IsNil() {
		return Body{}, fmt.Errorf("the apply configuration is a %T, but must be a pointer that is not nil", configuration)
	}
	of, content := config.Type().Elem(), any(configuration)
	if holder, ok := configuration.(Unstructured); ok {
		if HoldsNothing(config.Elem()) {
			return Body{}, errors.New("the apply configuration contains a nil *unstructured.Unstructured")
		}
		of, content = nil, holder.UnstructuredContent()
	}
	raw, err := json.Marshal(content)
	return Body{of, raw}, err
}

// Unstructured is implemented by the apply configurations that client.ApplyConfigurationFromUnstructured returns, and
// not by typed ones.
type Unstructured interface {
	UnstructuredContent() map[string]any
}

// HoldsNothing reports whether an apply configuration from client.ApplyConfigurationFromUnstructured contains a nil
// *unstructured.Unstructured.
func HoldsNothing(holder reflect.Value) bool {
	if holder.Kind() != reflect.Struct {
		return false
	}
	held := holder.FieldByName("Unstructured")
	return held.Kind() == reflect.Pointer && held.IsNil()
}
