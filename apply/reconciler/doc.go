// Package reconciler makes a controller-runtime reconciler from a pure function, Config.Emit. From a parent object, Emit
// computes the intents (apply.Intent) for the parent's children.
//
// # What one reconcile does, in order
//
//  1. It reads the parent from the cache. If the parent does not exist, it calls Config.Gone and ends.
//  2. If the parent has the annotation PausedAnnotation with the value "true", it ends.
//  3. If the parent is being deleted, it calls Config.Cleanup. Then, with Config.Prune, it deletes the objects that were
//     applied for the parent, and releases the fields that were applied with MustExist. Finally it removes the finalizer
//     and ends, without calling Emit.
//  4. If the parent lacks the finalizer, it adds the finalizer before any other write, and ends. The next reconcile
//     begins at once. If the live parent is paused or being deleted, steps 2 and 3 follow instead.
//  5. It calls Config.Emit. Emit has no client and no clock: its intents depend only on the parent, so golden tests can
//     check them. In the first reconciles of a process, Emit is called twice. If the two calls return different
//     intents, the reconcile fails (ErrNotPure).
//  6. It applies all intents, even if some of them fail. It does not change an object that exists but does not belong to
//     the parent, see Config.Belongs.
//  7. With Config.Prune, if all intents were applied, it deletes the objects that were applied for the parent before and
//     for which Emit no longer returns an intent.
//  8. It calls Config.Status, and writes the parent's status by get-modify-update or by an apply. Then it calls
//     Report.Then. If the status write shows that the parent no longer exists, nothing is applied for the parent again,
//     even while a cache that is out of date still has the parent.
//
// # Errors
//
// An ownership conflict that the policy rejects is reported in the status, in an event and in the log, once while it
// stays the same. The apply is retried after a minute, or when the parent or a child changes. An immediate retry would
// not help, so the conflict is not an error of the reconcile. An object that belongs to someone else (apply.ErrNotOurs)
// is handled in the same way. A conflict for which the policy does not reject the intent is reported in one event. An
// object in a Namespace that is being deleted is reported in the status and the log, without an event, and its apply is
// retried after a minute. A RetryableError is retried after the time that the API server asked for.
//
// An error that a person must fix is logged once while its text stays the same:
//   - An invalid intent (apply.ErrInvalidIntent) is a reconcile.TerminalError, because only a change of the parent or of
//     the program fixes the intent. The parent is reconciled again at its next event.
//   - A refusal by the API server (apply.ErrRefused), such as a missing right, a full quota or a kind that is not
//     installed, is retried: at first after one second, and later every minute. It is not a TerminalError, because no
//     event reports that an administrator has fixed the cause. A refusal during the deletion of a parent is retried likewise.
//   - An Emit that is not pure (ErrNotPure) is retried every minute.
//
// All other errors are retried by the controller's rate limiter. If a reconcile has several errors and one of them is of
// this sort, the rate limiter determines when all of them are retried.
//
// # Contract of the caller
//
// Emit must be pure. Status reads all that it needs and returns a change of the status. This change must be idempotent,
// set only the status fields of this reconciler, and have no side effects, because it is repeated after a stale write.
// The children must be watched, so that their creation, and changes by others, trigger a reconcile.
//
// With Config.Prune, each call of Emit must return all intents of the parent, because objects without an intent are
// deleted. If Emit cannot know all intents, it must return an error. Before objects are deleted, the generation of the
// parent for which Emit was called is compared with that of the live parent (or the resourceVersion, for a kind without
// a generation). Nothing checks whether other inputs of Emit are out of date.
package reconciler
