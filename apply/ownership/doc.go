// Package ownership moves fields of an object from other field managers to that of an
// Applier, and back: to go over from get-modify-update to intents, and to rename, merge and
// split managers. No value changes.
//
// # What the package promises
//
//  1. Looking writes nothing. Migrate, Rename and Undo read the object and give a Transfer:
//     Moves is what its Do moves, Unmoved what stays and why, Unmatched what was not found.
//  2. Do is one write, bound to the uid and the resourceVersion that were read: nobody's
//     concurrent write is lost, and no object that was deleted is brought back, nor one
//     that was recreated touched.
//  3. What moves is what was shown. Where another write came between it looks again, and
//     ends with a StaleWriteError if other fields would move now.
//  4. No other manager loses a field by it: where the API server would not store everybody's
//     managed fields as sent, nothing is written.
//  5. Do gives what undoes it, and Undo makes that in another process.
//
// Errors are those of package apply, one typed error for each class.
//
// # What the caller does
//
//  1. Stops the former manager, or has it leave out what moves: a manager that writes on
//     owns again what it writes.
//  2. Shows the Transfer to somebody, or checks its Unmoved and Unmatched, before Do.
//  3. Applies an intent that has all that moved: what it leaves out is given up, and goes.
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
// fields again and again is one that still writes.
//
// Invalid: Migrate from a manager that stays, such as that of an autoscaler. Its next write
// takes the field, and the Applier's next apply conflicts with it: leave the field out of
// the intent.
package ownership
