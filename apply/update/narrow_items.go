package update

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// items implements rebase for a list. For each item that mutate kept, it returns the live item with the changes by
// mutate. New items are sent unchanged. The live list and the list before mutate have the same items at the same
// indices, unless the Go type omits or adds items.
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

// origins returns, for each item of the list after mutate, the index of the same item in the list before mutate, or -1
// if the item is new.
//
// Unchanged items are found by equality, and changed items by the keys of the list. If the list has no keys, a changed
// item cannot be distinguished from a new item that replaces the old item. This matters if the live item has a field
// that the Go type lacks: the field of a changed item must stay, and the field of a replaced item must go. In this case,
// origins returns an error. Otherwise the item counts as new.
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

// equalItems matches the items of two lists by equality, and returns indices as origins does. It first compares items
// at the same index, and then the remaining items in order.
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

// originsByKeys matches the items of two lists by the key fields in the API server's schema, and returns indices as
// origins does. It returns an error if the key fields are not known, or do not identify the items.
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
// the live object, and mutate removed only some of them. It is not known which of the live items mutate removed.
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

// missing returns the indices of the items that are in the list before mutate and not in the list after mutate, in
// ascending order. from is the result of origins.
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
	errOtherNumber = errors.New("the Go type omits items of the list or adds items to the list")
)
