package fieldowners

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"coapply.dev/fieldowners/internal/notation"
)

// FormatValue returns a value of an object as JSON on one line, cut off after 80 characters, in
// a form that cannot control a terminal; for Hidden it returns "(hidden)".
func FormatValue(v any) string {
	if hidden, is := v.(HiddenValue); is {
		return string(hidden)
	}
	var encoded strings.Builder
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return reflect.TypeOf(v).String()
	}
	const limit = 80
	text := []rune(strings.TrimSuffix(encoded.String(), "\n"))
	if len(text) > limit {
		return notation.EscapeUnseen(string(text[:limit])) + "…"
	}
	return notation.EscapeUnseen(string(text))
}

// EqualValues reports whether two values of objects are equal as JSON: 1 and 1.0 are the
// same number.
func EqualValues(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for name, v := range x {
			if other, has := y[name]; !has || !EqualValues(v, other) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, EqualValues)
	case int64:
		if y, ok := b.(float64); ok {
			return float64(x) == y
		}
	case float64:
		if y, ok := b.(int64); ok {
			return x == float64(y)
		}
	}
	return reflect.DeepEqual(a, b)
}
