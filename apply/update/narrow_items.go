package update

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// items is rebase for a list. live and before have the same items at the same indices, unless the Go type omits or adds
// items. For an item of after that is also in before, the result has the live item with the changes by mutate. A new
// item of after is sent unchanged.
func (n narrowing) items(at *place, live, before, after []any) ([]any, error) {
	from, err := n.origins(at, live, before, after)
	if err != nil {
		return nil, err
	}
	content := slices.Clone(after)
	for i, j := range from {
		if j < 0 {
			continue
		}
		if content[i], err = n.rebase(at.item(j), live[j], before[j], after[i]); err != nil {
			return nil, err
		}
	}
	return content, nil
}

// origins returns, for each item of after, the index of the same item in before, or -1 if the item is new.
//
// An item that mutate did not change is found by equality, and a changed item by the keys of the list, as in the API
// server. If the list has no keys, there are two cases that cannot be told apart. Mutate may have changed the item:
// then the write must keep the fields of the live item that the Go type lacks. Or mutate may have replaced the item by
// a new one: then the write must not keep these fields. In both cases the item is sent as it is after mutate. If the
// live item has a field that the Go type lacks, origins returns an error instead.
func (n narrowing) origins(at *place, live, before, after []any) (from []int, err error) {
	if len(live) != len(before) { // the Go type omits or adds items, so the indices differ
		return newItems(after), n.refuse(at, live, nil, indices(live), errOtherNumber)
	}
	from = equalItems(before, after, at.goType.item())
	gone := missing(from, before)
	if len(gone) == 0 || reflect.DeepEqual(live, before) {
		return from, nil
	}
	hides := func(j int) bool { return !reflect.DeepEqual(live[j], before[j]) }
	if slices.Contains(from, -1) && slices.ContainsFunc(gone, hides) {
		byKeys, noKeys := n.originsByKeys(at, before, after)
		if noKeys == nil {
			return byKeys, nil
		}
		if err := n.refuse(at, live, before, gone, noKeys); err != nil {
			return nil, err
		}
	}
	return from, n.refuse(at, live, before, mixedUp(live, before, gone), errSameItems)
}

// equalItems is origins for a list whose items are found by equality alone. It first compares the items at the same
// index, and then the other items in their order.
func equalItems(before, after []any, item goType) (from []int) {
	from = newItems(after)
	for i := range min(len(before), len(after)) {
		if alikeAs(before[i], after[i], item) {
			from[i] = i
		}
	}
	places := map[string][]int{} // the indices in before, by content of the item
	for _, j := range missing(from, before) {
		places[text(before[j])] = append(places[text(before[j])], j)
	}
	for i := range after {
		if from[i] >= 0 {
			continue
		}
		if found := places[text(after[i])]; len(found) > 0 {
			from[i], places[text(after[i])] = found[0], found[1:]
		}
	}
	return from
}

// originsByKeys is origins for a list whose items are found by the list's key fields, as the API server's schema
// defines them. It returns an error if the keys are not known, or do not identify the items.
func (n narrowing) originsByKeys(at *place, before, after []any) (from []int, err error) {
	keys, err := n.keysOf(at)
	if err != nil {
		return nil, err
	}
	were, ok := keys.index(before)
	are, ok2 := keys.index(after)
	if !ok || !ok2 {
		return nil, errSameKeys
	}
	from = newItems(after)
	for key, i := range are {
		if j, found := were[key]; found {
			from[i] = j
		}
	}
	return from, nil
}

// mixedUp returns the indices of ambiguous items. Items are ambiguous if they are equal in the Go type but differ in
// the live object, and mutate removed some of them but not all: it is then not known which of the live items mutate
// removed.
func mixedUp(live, before []any, gone []int) (items []int) {
	equals := map[string][]int{}
	for j := range before {
		equals[text(before[j])] = append(equals[text(before[j])], j)
	}
	for _, group := range equals {
		differ := slices.ContainsFunc(group, func(j int) bool { return !reflect.DeepEqual(live[j], live[group[0]]) })
		if !differ {
			continue
		}
		left := len(slices.DeleteFunc(slices.Clone(group), func(j int) bool { _, is := slices.BinarySearch(gone, j); return is }))
		if 0 < left && left < len(group) {
			items = append(items, group...)
		}
	}
	slices.Sort(items)
	return items
}

// missing returns the indices of the items of before that are not in after, in ascending order. from is the result of
// origins.
func missing(from []int, before []any) []int {
	found := make([]bool, len(before))
	for _, j := range from {
		if j >= 0 {
			found[j] = true
		}
	}
	return slices.DeleteFunc(indices(before), func(j int) bool { return found[j] })
}

func indices(of []any) []int {
	all := make([]int, len(of))
	for i := range all {
		all[i] = i
	}
	return all
}

func newItems(after []any) (from []int) { return slices.Repeat([]int{-1}, len(after)) }

// text returns a value as a string. Equal values have equal strings, because the map keys are sorted.
func text(of any) string { return fmt.Sprintf("%#v", of) }

// Reasons why an item of a list after mutate cannot be matched with an item of the live list.
var (
	errNoSchemas   = errors.New("the list's keys are not known, because update.Config.Schemas is nil")
	errNoKeys      = errors.New("the list has no keys in the API server's schema")
	errSameKeys    = errors.New("two items have the same keys")
	errSameItems   = errors.New("two items are equal in all fields that the Go type has")
	errOtherNumber = errors.New("the Go type does not have all items of the list")
)
