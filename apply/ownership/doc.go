// Package ownership moves fields of an object from other field managers to that of an Applier,
// and back: to migrate from get-modify-update to intents, and to rename, merge and split
// managers. No value changes.
//
// # What the package promises
//
//  1. Migrate, Rename and Undo write nothing. They read the object and return a Transfer. Its
//     Moves are the fields that Do moves, Unmoved the fields that stay and the reasons, and
//     Unmatched the managers and paths that were not found.
//  2. Do is one write, pinned to the uid and resourceVersion that were read. It overwrites no
//     concurrent write, and does not touch an object that was deleted or recreated.
//  3. Do moves what Moves returns. After a concurrent write it reads again, and returns a
//     StaleWriteError if other fields would move now.
//  4. No other manager loses a field: if the API server would not store all managed fields as
//     sent, nothing is written.
//  5. Do returns the Transfer that undoes it; Undo returns the same in another process.
//
// Errors are those of package apply, one typed error for each class.
//
// # What the caller does
//
//  1. Stops the former manager, or makes it leave out the moved fields. Otherwise its next write
//     makes it an owner again.
//  2. Shows the Transfer to a person, or checks its Unmoved and Unmatched, before Do.
//  3. Applies an intent with all moved fields. The API server deletes the other ones.
//
// Valid, everything below .spec that a former version wrote by Update:
//
//	transfer, err := ownership.Migrate(ctx, applier, object,
//		ownership.From{Manager: "manager", Paths: []string{".spec"}})
//	if err == nil && len(transfer.Unmatched()) == 0 {
//		undo, err = transfer.Do(ctx)
//	}
//
// Invalid: Migrate in each reconcile. It is done once for an object; a manager that owns the
// fields again still writes.
//
// Invalid: Migrate from a manager that stays, such as that of an autoscaler. Its next write
// takes the field, and the Applier's next apply conflicts with it: leave the field out of
// the intent.
package ownership
