// Package emission compares the intents that two calls of reconciler.Config.Emit returned for the same parent.
package emission

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

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
		if changes := fieldowners.Changes(a, b); len(changes) > 0 {
			return fmt.Sprintf("two calls of Emit for the same parent returned different values of %s in %s; %s",
				changes[0].Path, name, remedy)
		}
	}
	return ""
}

const remedy = "Emit must return the same intents each time for the same parent: sort lists that come from a map, " +
	"and remove values that come from a clock, a random number or a counter"

// partsOf returns the decoded content of each intent. The keys of the map name the intent's object and subresource.
func partsOf(intents []apply.Intent) map[string]any {
	parts := map[string]any{}
	for _, intent := range intents {
		object, err := intent.Object()
		if err != nil {
			continue
		}
		part, config := object.String(), intent.Config
		if intent.Subresource != "" {
			part += " (" + intent.Subresource + ")"
		}
		if intent.Body != nil {
			config = intent.Body
		}
		if body, err := wire.Encode(config); err == nil {
			var content any
			_ = json.Unmarshal(body.JSON, &content) // no error, because json.Marshal has written the body
			parts[part] = content
		}
	}
	return parts
}
