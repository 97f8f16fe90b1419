// Package fieldowners reads the managed fields of a Kubernetes object as
// ownership: which field manager owns which field.
//
// It is pure data: no client, no clock, no logging. It reads what the API server recorded
// (KEP-555, Server-Side Apply); malformed input is an error that says where, never a partial
// result.
//
// Package contract says who may own what, and package command writes the commands that a person
// runs. They import this package.
//
// # Contract
//
//  1. Parse takes metadata.managedFields as they are and returns an Ownership.
//     Malformed input is an error that names the entry, never a panic and never
//     a partial result.
//  2. A Path has one notation, that of Path.String. Map keys that are not plain
//     identifiers are quoted: .metadata.annotations["a.b/c"]. List items are named
//     by key, [name="web"], members of a set by value, [="v"], items of an atomic
//     list by index, [3].
//  3. Output order is stable.
//  4. Absence of managed fields means unknown, not unowned: they may have been
//     stripped on the way.
//  5. Join returns the fields of an object with their owners.
//  6. PathOf, Path.FieldPath, EntryOf and Entry.Set convert from and to structured-merge-diff
//     v4. Paths are copied; a set is not, and must not be changed.
//  7. Diff compares two ownerships, Changes two objects; neither needs a schema: list items are
//     identified as in the managed fields. Changes and Join return the objects' own values,
//     including those of Secrets: see Hide and Path.HoldsSecret before you show them.
//  8. Transfer plans moves of fields between managers, and returns the managed fields that
//     result: no field is left without an owner, all other entries stay as they are, and
//     TransferPlan.Undo reverts the move. Package apply/ownership writes them.
//  9. Path.Set, Path.Cut and the transform of KeepOwn change the object that they are given, in
//     place. Nothing else does.
//
// Valid:
//
//	ownership, err := fieldowners.Parse(deployment.GetManagedFields())
//	owners := ownership.OwnersOf(fieldowners.MustParsePath(".spec.replicas"))
//
// Invalid: the API server's own path strings leave map keys unquoted, so that
// ParsePath reads .metadata.labels.a.b as three names. Compare such a string with
// Path.ServerString of the paths you know instead of parsing it, or have Locate find
// it in an object.
package fieldowners
