// Package fieldowners reads the managed fields of a Kubernetes object as
// ownership: which field manager owns which field.
//
// It is pure data: no client, no clock, no logging. What it reads is what the
// API server recorded (KEP-555, Server-Side Apply); what it refuses, it refuses
// whole, with an error that says where.
//
// What is asked of ownership has packages of its own, each usable alone: predict says
// what an apply would meet, explain what a conflict means, lint what is likely to cause
// trouble, fights who takes fields from whom again and again, and command what a person
// runs about it. They import this package, and it imports none of them.
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
//  5. Join puts owners beside the fields of an object. What Parse has read it reads once:
//     equal bytes share one parsed set, which nothing changes.
//  6. PathOf, Path.FieldPath, EntryOf and Entry.Set go over to structured-merge-diff v4
//     and back. Paths are copied; a set is not, and is for reading.
//  7. Diff compares two ownerships, Changes two objects; neither knows a schema, and
//     list items are told apart as the managed fields themselves name them. Changes and
//     Join have the objects' own values in them, those of Secrets too: Hide and
//     Path.HoldsSecret are for whoever shows them.
//  8. Transfer moves fields between managers on paper: nobody's field is left without
//     an owner, everybody else's entry stays as it is, and TransferPlan.Undo gives all
//     of it back. Writing the result, guarded, is for whoever has a client.
//  9. Path.Set and Path.Cut change the object that they are given, in place, and so does
//     the transform of KeepOwn. Nothing else does.
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
