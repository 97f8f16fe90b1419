package update

import (
	"fmt"
	"reflect"
	"slices"
)

// rebaseItems is rebase for a list. live and before have the same items by index. Each item of
// after is rebased on the live item that it was before, whatever was added, removed or moved
// beside it, or is new.
func rebaseItems(live, before, after []any, known goType) []any {
	from := origins(before, after)
	item := known.item()
	content := make([]any, len(after))
	for i := range after {
		if content[i] = after[i]; from[i] >= 0 {
			content[i] = rebase(live[from[i]], before[from[i]], after[i], item)
		}
	}
	return content
}

// origins returns for each item of after the index that it had before, or -1 if it is new.
// Equal items are matched first, by position and then in their order. The others have changed:
// an item is matched with the one that has the same key, by the usual names of keys, and most
// values in common; otherwise with one that has more than half of its values in common.
func origins(before, after []any) []int {
	from := slices.Repeat([]int{-1}, len(after))
	taken := make([]bool, len(before))
	match := func(i, j int) { from[i], taken[j] = j, true }
	for i := range after {
		if i < len(before) && reflect.DeepEqual(before[i], after[i]) {
			match(i, i)
		}
	}
	places := map[string][]int{} // of what is still to be found
	for j := range before {
		if !taken[j] {
			text := fmt.Sprintf("%#v", before[j]) // maps in the order of their keys
			places[text] = append(places[text], j)
		}
	}
	for i := range after {
		text := fmt.Sprintf("%#v", after[i])
		if same := places[text]; from[i] < 0 && len(same) > 0 {
			match(i, same[0])
			places[text] = same[1:]
		}
	}
	for _, byKey := range []bool{true, false} {
		for i := range after {
			if from[i] >= 0 {
				continue
			}
			if j := mostAlike(before, taken, after[i], i, byKey); j >= 0 {
				match(i, j)
			}
		}
	}
	return from
}

// mostAlike returns the index of the item that a changed item was before: of the candidates the
// one with most values in common, and of these the nearest; -1 if there is no candidate.
func mostAlike(before []any, taken []bool, item any, at int, byKey bool) int {
	best, most := -1, 0
	for j := range before {
		if taken[j] || byKey && !sameKey(before[j], item) {
			continue
		}
		common := alike(before[j], item)
		if !byKey && 2*common <= max(values(before[j]), values(item)) {
			continue
		}
		if common > most || common == most && distance(j, at) < distance(best, at) {
			best, most = j, common
		}
	}
	return best
}

// usualKeys are the usual names of list keys in Kubernetes' APIs. The real keys are in the
// server's schema, which is not known here.
var usualKeys = []string{"name", "type", "key", "id", "uid", "ip", "mountPath", "devicePath", "topologyKey", "containerPort", "port"}

// sameKey reports whether two items have the same value of the first of the usual keys
// that both have.
func sameKey(a, b any) bool {
	first, _ := a.(map[string]any)
	second, _ := b.(map[string]any)
	for _, key := range usualKeys {
		x, inFirst := first[key]
		y, inSecond := second[key]
		if inFirst && inSecond {
			return reflect.DeepEqual(x, y)
		}
	}
	return false
}

func distance(a, b int) int { return max(a-b, b-a) }

// alike returns how many values a and b have in common.
func alike(a, b any) (common int) {
	switch a := a.(type) {
	case map[string]any:
		b, _ := b.(map[string]any)
		for name, value := range a {
			common += alike(value, b[name])
		}
		return common
	case []any:
		b, _ := b.([]any)
		for i := range min(len(a), len(b)) {
			common += alike(a[i], b[i])
		}
		return common
	}
	if reflect.DeepEqual(a, b) {
		return 1
	}
	return 0
}

func values(of any) int {
	n := 0
	switch of := of.(type) {
	case map[string]any:
		for _, value := range of {
			n += values(value)
		}
	case []any:
		for _, value := range of {
			n += values(value)
		}
	default:
		return 1
	}
	return n
}
