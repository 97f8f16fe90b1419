// Package reconciler turns a pure function, from a parent object to the intents that it calls
// for, into a controller-runtime reconciler.
//
// # What one reconcile does, in order
//
//  1. Gets the parent from the cache. If it does not exist, Config.Gone is called.
//  2. Leaves a parent with the annotation PausedAnnotation alone.
//  3. For a parent that is being deleted: calls Config.Cleanup; then, with Config.Prune,
//     deletes what the parent emitted and releases what its partial intents set; then
//     removes the finalizer. Nothing is emitted.
//  4. Ensures the finalizer before anything else is written. If it had to be added, the
//     reconcile ends and the next one begins at once. If the parent turns out to be paused
//     or deleted by now, 2 and 3 hold.
//  5. Calls Config.Emit, which has no client and no clock: its intents depend on the parent
//     alone, and golden tests can check them. In the first reconciles of each parent, the
//     reconciler calls Emit twice. If the two calls return different intents, the reconcile fails
//     (ErrNotPure).
//  6. Applies every intent, also after one failed. Children are created exclusively, see
//     Config.Belongs.
//  7. With Config.Prune, and if all intents were applied: deletes what the parent emitted
//     before and no longer emits.
//  8. Calls Config.Status, and writes the parent's status by get-modify-update or as an
//     intent. Then calls Report.Then. If the parent turns out to have been deleted, nothing is
//     applied for it again, even while the cache is behind and still has it.
//
// # What becomes of errors
//
// An ownership conflict that the policy rejects is reported in the status, in an event and in
// the log, once while it stays the same. It is tried again after a minute, or when parent or
// child change, and is not an error of the reconcile, as retrying at once does not help. A
// conflict that is settled is reported in one event. An object that is someone else's
// (apply.ErrNotOurs) is treated as a rejected conflict. A Namespace that is being deleted is
// reported in the status and in the log, without an event, and tried again a minute later. A
// RetryableError waits as long as the server asked.
//
// An error that a person must fix is logged once while its text stays the same. An invalid intent
// (apply.ErrInvalidIntent) is a reconcile.TerminalError, because only a change of the parent or
// of the program fixes such an intent. The parent is reconciled again at its next event. A
// refusal by the API server (apply.ErrRefused) is no TerminalError. Examples are a missing right,
// a full quota and a kind that is not installed. No event reports that an administrator has fixed
// the cause. So the refusal is logged as an error and the apply is retried, at first after one
// second and later each minute. This also holds while a parent is being deleted. An Emit that is
// not pure (ErrNotPure) is retried each minute.
//
// All other errors are retried by the controller's rate limiter. If a reconcile returns several
// errors and one of them is such an error, the rate limiter decides about all of them.
//
// # What the caller promises
//
// Emit is pure. Status reads first and returns a change that is idempotent, sets only the
// fields that this reconciler writes, and has no side effects: it runs again after a stale
// write. Children are watched, so that an Absent outcome and drift lead to another reconcile.
//
// With Config.Prune, Emit returns everything that the parent calls for, each time. What it
// leaves out by mistake is deleted; if it cannot know, it returns an error. Pruning compares
// the parent's generation with the live parent (or the resourceVersion, if its kind has no
// generation) and nothing else, so what Emit knows from elsewhere may be old.
package reconciler
