// Package emission compares the intents that two calls of the same Emit function returned for the
// same parent.
package emission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// Difference returns "" if both calls returned the same objects with the same fields, in any
// order of the intents. Otherwise it returns a text that names the first difference and what to
// do about it. The text contains no values, as a value may come from a Secret. An intent that
// cannot be encoded is ignored: Apply returns an error for that intent.
func Difference(first, second []apply.Intent) string {
	one, two := partsOf(first), partsOf(second)
	all := maps.Clone(one)
	maps.Copy(all, two)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, inOne := one[name]
		b, inTwo := two[name]
		if inOne != inTwo {
			return fmt.Sprintf("one of two calls for the same parent returned %s, and the other did not; %s", name, remedy)
		}
		if text := differing(name, a, b); text != "" {
			return text
		}
	}
	return ""
}

const remedy = "Emit must return the same intents each time for the same parent: take out what comes from a clock, a random number, a counter or the order of a map"

func differing(name string, first, second []byte) string {
	if bytes.Equal(first, second) {
		return ""
	}
	var a, b any
	_, _ = json.Unmarshal(first, &a), json.Unmarshal(second, &b) // json.Marshal has written both
	if reflect.DeepEqual(a, b) {
		return ""
	}
	path, reordered := difference(fieldowners.Path{}, a, b)
	if reordered {
		return fmt.Sprintf("two calls for the same parent returned the items of the list %s of %s in another order; sort the list: %s", path, name, remedy)
	}
	return fmt.Sprintf("two calls for the same parent returned different values of %s of %s; %s", path, name, remedy)
}

// partsOf returns the JSON of the content of each intent. The key is the object's name, followed
// by the subresource if the intent has one.
func partsOf(intents []apply.Intent) map[string][]byte {
	parts := map[string][]byte{}
	for _, intent := range intents {
		object, err := intent.Object()
		if err != nil {
			continue
		}
		add := func(suffix string, config runtime.ApplyConfiguration) {
			if body, err := wire.Encode(config); err == nil {
				parts[object.String()+suffix] = body.JSON
			}
		}
		switch {
		case intent.Body != nil:
			add(" ("+intent.Subresource+")", intent.Body)
		case intent.Subresource != "":
			add(" ("+intent.Subresource+")", intent.Config)
		default:
			add("", intent.Config)
		}
	}
	return parts
}

// difference returns the path of the first field whose values differ. The result reordered is
// true if the field is a list and only the order of its items differs.
func difference(at fieldowners.Path, a, b any) (path fieldowners.Path, reordered bool) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			return differenceOfMaps(at, a, b)
		}
	case []any:
		if b, ok := b.([]any); ok && len(a) == len(b) {
			return differenceOfLists(at, a, b)
		}
	}
	return at, false
}

func differenceOfMaps(at fieldowners.Path, a, b map[string]any) (fieldowners.Path, bool) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !reflect.DeepEqual(a[name], b[name]) {
			text, _ := json.Marshal(name)
			return difference(below(at, "["+string(text)+"]"), a[name], b[name])
		}
	}
	return at, false
}

func differenceOfLists(at fieldowners.Path, a, b []any) (fieldowners.Path, bool) {
	if sameItems(a, b) {
		return at, true
	}
	i := 0
	for reflect.DeepEqual(a[i], b[i]) {
		i++
	}
	return difference(below(at, fmt.Sprintf("[%d]", i)), a[i], b[i])
}

// sameItems reports whether two lists of the same length have the same items.
func sameItems(a, b []any) bool {
	left := slices.Clone(b)
	for _, item := range a {
		i := slices.IndexFunc(left, func(other any) bool { return reflect.DeepEqual(item, other) })
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return true
}

// below returns the path extended by one step in path notation. If the step cannot be parsed,
// below returns the path unchanged.
func below(path fieldowners.Path, step string) fieldowners.Path {
	if longer, err := fieldowners.ParsePath(path.String() + step); err == nil {
		return longer
	}
	return path
}
