// Package items names the items of lists as managed fields do: by the fields of a key, or by
// the value of a scalar.
//
// # Contract
//
//  1. NamingOf finds from one element how its list names items; no schema is needed.
//  2. NameOf and NameAll name what can be named for certain: an item that lacks a field of the
//     key has no name, and two items of one name have none either.
//
// Valid:
//
//	how, ok := items.NamingOf(element)
//	name, ok := how.NameOf(map[string]any{"name": "web"})
//
// Invalid: the items of an atomic list. They have places and no names, and NamingOf does not
// know them.
package items
