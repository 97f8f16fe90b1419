package steady

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/value"

	"coapply.dev/apply/internal/content"
)

// hasEmptyItem reports whether a value is a list with an item that sets nothing, so that its
// keys are defaults: the server adds and drops such an item by turns.
func hasEmptyItem(content any) bool {
	list, _ := content.([]any)
	return slices.ContainsFunc(list, func(item any) bool {
		fields, ok := item.(map[string]any)
		return ok && len(fields) == 0
	})
}

// differs reports, early and without a schema, whether a value of the intent that is not inside
// a list differs from the live one. Equivalent quantities do not differ, and neither do zero
// and absent values.
func differs(wanted map[string]any, live value.Value) bool {
	if !live.IsMap() {
		return true
	}
	fields := live.AsMap()
	for name, want := range wanted {
		at, ok := fields.Get(name)
		switch want := want.(type) {
		case map[string]any:
			if ok && at.IsMap() && differs(want, at) {
				return true
			}
		case string:
			if !ok && want != "" || ok && (!at.IsString() || want != at.AsString() && !content.SameQuantity(want, at.AsString())) {
				return true
			}
		case bool:
			if !ok && want || ok && (!at.IsBool() || want != at.AsBool()) {
				return true
			}
		case int64:
			if ok && at.IsInt() && want != at.AsInt() {
				return true
			}
		}
	}
	return false
}
