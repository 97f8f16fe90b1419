// Package emission compares the intents that two calls of reconciler.Config.Emit returned for the same parent.
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

// Difference compares the intents that two calls of Emit returned. It returns "" if both calls returned the same
// objects with the same fields, in any order. Otherwise it returns a message that names the first difference and says
// how to remove it. The message contains no values, because a value may come from a Secret. Invalid intents are
// ignored: Apply returns an error for each of them.
func Difference(first, second []apply.Intent) string {
	one, two := partsOf(first), partsOf(second)
	all := maps.Clone(one)
	maps.Copy(all, two)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, inOne := one[name]
		b, inTwo := two[name]
		if inOne != inTwo {
			return fmt.Sprintf("one of two calls of Emit for the same parent returned an intent for %s, and the other did not; %s",
				name, remedy)
		}
		if text := differing(name, a, b); text != "" {
			return text
		}
	}
	return ""
}

const remedy = "Emit must return the same intents each time for the same parent: remove values that come from a clock, a random number, a counter or the order of a map"

func differing(name string, first, second []byte) string {
	if bytes.Equal(first, second) {
		return ""
	}
	var a, b any
	_, _ = json.Unmarshal(first, &a), json.Unmarshal(second, &b) // no errors, because json.Marshal has written both
	changes := fieldowners.Changes(a, b)
	switch {
	case len(changes) == 0:
		return ""
	case reordered(changes[0]):
		return fmt.Sprintf("two calls of Emit for the same parent returned the list %s of %s in different orders; sort the list: %s",
			changes[0].Path, name, remedy)
	}
	return fmt.Sprintf("two calls of Emit for the same parent returned different values of %s in %s; %s", changes[0].Path, name, remedy)
}

// partsOf returns the content of each intent as JSON. The keys of the map name the intent's object and subresource.
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

// reordered reports whether a change only reorders the items of a list.
func reordered(change fieldowners.Change) bool {
	a, isList := change.Before.([]any)
	b, isToo := change.After.([]any)
	if !isList || !isToo || len(a) != len(b) {
		return false
	}
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
