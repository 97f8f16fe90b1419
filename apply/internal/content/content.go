// Package content compares the values in unstructured objects: maps, slices and scalars, as encoding/json decodes them.
package content

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Within reports whether the given function returns true for the content itself, or for any value inside the content.
func Within(content any, is func(any) bool) bool {
	if is(content) {
		return true
	}
	switch content := content.(type) {
	case map[string]any:
		for _, below := range content {
			if Within(below, is) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(content, func(item any) bool { return Within(item, is) })
	}
	return false
}

// SameQuantity reports whether two strings denote the same quantity, such as 1000m and 1.
func SameQuantity(a, b string) bool {
	first, err := resource.ParseQuantity(a)
	second, err2 := resource.ParseQuantity(b)
	return err == nil && err2 == nil && first.Cmp(second) == 0
}

// MayBeSame reports whether two strings may be forms of the same value: equal quantities, base64 text of the same
// bytes, or two times in the format RFC 3339. It does not compare the times.
func MayBeSame(a, b string) bool {
	isTime := func(text string) bool { _, err := time.Parse(time.RFC3339, text); return err == nil }
	return SameQuantity(a, b) || SameBytes(a, b) || isTime(a) && isTime(b)
}

// Copy returns a deep copy of an object as an unstructured object.
func Copy(object client.Object) (*unstructured.Unstructured, error) {
	if read, ok := object.(runtime.Unstructured); ok {
		return &unstructured.Unstructured{Object: runtime.DeepCopyJSON(read.UnstructuredContent())}, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	return &unstructured.Unstructured{Object: content}, err
}

// SameMeaning reports whether live, the value in the API server, means the same as wanted, the value in an intent.
// Fields that only live has, such as defaults in list items, are ignored.
func SameMeaning(wanted, live any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		there, ok := live.(map[string]any)
		if !ok {
			return false
		}
		for name, value := range wanted {
			at, has := there[name]
			if has && !SameMeaning(value, at) || !has && !IsZero(value) {
				return false
			}
		}
		return true
	case []any: // further live items are ignored, because admission may add them
		there, ok := live.([]any)
		return ok && len(wanted) <= len(there) && slices.EqualFunc(wanted, there[:len(wanted)], SameMeaning)
	case string:
		there, ok := live.(string)
		return ok && (wanted == there || SameQuantity(wanted, there))
	case nil:
		return true // the API server does not store null
	}
	if there, isText := live.(string); isText { // an intent may have a number for a quantity
		return SameQuantity(fmt.Sprint(wanted), there)
	}
	return reflect.DeepEqual(wanted, live) || sameNumber(wanted, live)
}

// sameNumber reports whether two values are the same number, such as 1 and 1.0. The caller must not pass strings.
func sameNumber(a, b any) bool {
	first, err := strconv.ParseFloat(fmt.Sprint(a), 64)
	second, err2 := strconv.ParseFloat(fmt.Sprint(b), 64)
	return err == nil && err2 == nil && first == second
}

// SameBytes reports whether both values are base64 text of the same bytes. (The API server accepts base64 text with
// line breaks, and removes these.)
func SameBytes(wanted, live any) bool {
	first, isText := wanted.(string)
	second, isText2 := live.(string)
	if !isText || !isText2 {
		return false
	}
	a, err := base64.StdEncoding.DecodeString(first)
	b, err2 := base64.StdEncoding.DecodeString(second)
	return err == nil && err2 == nil && bytes.Equal(a, b)
}

// IsZero reports whether a value is null, empty or zero, so that it means the same as an absent field.
func IsZero(v any) bool {
	switch value := reflect.ValueOf(v); value.Kind() {
	case reflect.Invalid: // null
		return true
	case reflect.Map, reflect.Slice:
		return value.Len() == 0
	default:
		return value.IsZero()
	}
}
