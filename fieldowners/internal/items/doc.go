// Package items names the items of lists as managed fields do: by key fields, or by the value
// of a scalar.
//
// # Contract
//
//  1. NamingOf returns from one element how its list names items; no schema is needed.
//  2. NameOf and NameAll name only what can be named for certain: an item that lacks a key
//     field has no name, and NameAll fails if two items have the same name.
//
// Valid:
//
//	how, ok := items.NamingOf(element)
//	name, ok := how.NameOf(map[string]any{"name": "web"})
//
// Invalid: the items of an atomic list. They have indexes and no names, and NamingOf returns
// false for them.
package items
