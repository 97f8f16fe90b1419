// Package reconciler makes a controller-runtime reconciler from a pure function, Emit, that returns
// the intents of a parent object.
//
// # What one reconcile does, in order
//
//  1. Gets the parent from the cache. If the parent does not exist, calls Config.Gone and ends.
//  2. If the parent has the annotation PausedAnnotation with the value "true", ends.
//  3. If the parent is being deleted: calls Config.Cleanup; then, with Config.Prune, deletes the
//     objects that the parent emitted and releases the fields of its partial intents; then
//     removes the finalizer and ends. Emit is not called.
//  4. Adds the finalizer, unless the parent has it, before any other write. If the finalizer was
//     added, the reconcile ends, and the next one begins at once. If the live parent is paused or
//     being deleted, steps 2 and 3 follow.
//  5. Calls Config.Emit. Emit has no client and no clock: its intents depend only on the parent,
//     so golden tests can check them. In the first reconciles of each parent, Emit is called
//     twice. If the two calls return different intents, the reconcile fails (ErrNotPure).
//  6. Applies all intents, even if some of them fail. An object that exists but is not a child of
//     the parent is not changed, see Config.Belongs.
//  7. With Config.Prune, and if all intents were applied: deletes the objects that the parent
//     emitted before and no longer emits.
//  8. Calls Config.Status, and writes the parent's status by get-modify-update or as an intent.
//     Then calls Report.Then. If the status write shows that the parent is gone, nothing is applied
//     for the parent again, even while an outdated cache still has it.
//
// # Errors
//
// An ownership conflict that the policy rejects is reported in the status, in an event and in the
// log, once as long as it stays the same. The apply is retried after a minute, or when the parent or
// a child changes. Retrying at once does not help, so the conflict is no error of the reconcile. A
// conflict that the policy settles is reported in one event. An object of someone else
// (apply.ErrNotOurs) is handled like a rejected conflict. If a Namespace is being deleted, there is no
// event: the error is in the status and the log, and the apply is retried after a minute. A
// RetryableError is retried after the wait that the API server asked for.
//
// An error that a person must fix is logged once as long as its text stays the same. An invalid
// intent (apply.ErrInvalidIntent) is a reconcile.TerminalError, because only a change of the parent
// or of the program fixes such an intent. The parent is reconciled again at its next event. A
// refusal by the API server (apply.ErrRefused) is no TerminalError. Examples are a missing right,
// a full quota and a kind that is not installed. No event reports that an administrator has fixed
// the cause. So the refusal is logged as an error and the apply is retried, at first after one
// second and later each minute. This also holds while a parent is being deleted. An Emit that is
// not pure (ErrNotPure) is retried each minute.
//
// All other errors are retried by the controller's rate limiter. If a reconcile has several errors
// and one of them is such an error, the rate limiter determines when all of them are retried.
//
// # Contract of the caller
//
// Emit is pure. Status reads all that it needs and returns a change. The change is idempotent, sets
// only the status fields of this reconciler, and has no side effects, as it runs again after a stale
// write. Children are watched, so that their creation and drift cause a reconcile.
//
// With Config.Prune, each Emit returns all intents of the parent. An object that Emit omits is
// deleted, so if Emit cannot know all intents, it returns an error. Before pruning, only the
// generation of the live parent is compared (or the resourceVersion, if the kind has no generation).
// So nothing checks whether other inputs of Emit are outdated.
package reconciler
