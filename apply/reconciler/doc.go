// Package reconciler makes a controller-runtime reconciler from a pure function, Config.Emit. From a parent object,
// Emit computes the intents (apply.Intent) for the parent's children.
//
// # What one reconcile does, in order
//
//  1. It reads the parent from the cache. If the parent does not exist, it calls Config.Gone and ends.
//  2. If the parent has the annotation PausedAnnotation with the value "true", it ends.
//  3. If the parent is being deleted, it calls Config.Cleanup. Then, with Config.Prune, it deletes the objects that
//     were applied for the parent, and releases the fields that were applied with MustExist. Finally it removes the
//     finalizer and ends, without calling Emit.
//  4. If the parent lacks the finalizer, it adds the finalizer before any other write, and ends. The next reconcile
//     begins at once. If the live parent is paused or being deleted, it continues with step 2 or 3.
//  5. It calls Config.Emit. Emit has no client and no clock: its intents depend only on the parent, so golden tests can
//     check them. In the first reconciles of a Reconciler, Emit is called twice. If the two calls return different
//     intents, the reconcile fails (ErrNotPure).
//  6. It applies all intents, even if some of them fail. It does not change an existing object that does not belong to
//     the parent, see Config.Belongs.
//  7. With Config.Prune, if all intents were applied, it deletes the objects of earlier intents that Emit no longer
//     returns.
//  8. It calls Config.Status, and writes the parent's status by get-modify-update or by an apply. Then it calls
//     Report.Then. If the status write shows that the parent no longer exists, nothing is applied for the parent again,
//     even while a cache that is out of date still contains the parent.
//
// # Errors
//
// An ownership conflict that the policy rejects is reported in the status, in an event and in the log. It is reported
// once while it stays the same. The apply is retried after a minute, or when the parent or a child changes. The
// conflict is not an error of the reconcile, because an immediate retry would not help. An object that belongs to
// someone else (apply.ErrNotOurs) is handled in the same way. Any other conflict is reported in one event. An object in
// a Namespace that is being deleted is reported in the status and the log, without an event. Its apply is retried after
// a minute. A RetryableError is retried after the time that the API server asked for.
//
// An error that a person must fix is logged once while its text stays the same:
//   - An invalid intent (apply.ErrInvalidIntent) is a reconcile.TerminalError, because only a change of the parent or
//     of the program fixes the intent. The parent is reconciled again at its next event.
//   - A refusal by the API server (apply.ErrRefused), such as a missing permission, a full quota or a kind that is not
//     installed, is retried: at first after one second, and later every minute. It is not a TerminalError, because no
//     event reports that an administrator has fixed the cause. A refusal during the deletion of a parent is retried in
//     the same way.
//   - An Emit that is not pure (ErrNotPure) is retried every minute.
//
// All other errors are retried by the controller's rate limiter. If a reconcile has several errors, and the rate
// limiter retries one of them, it also determines when the others are retried.
//
// # Contract of the caller
//
// Emit must be pure. Status reads all data that it needs, and returns a change of the status. This change must be
// idempotent, set only the status fields of this reconciler, and have no side effects, because it is repeated after a
// stale write. The caller must watch the children, so that each creation or change of a child triggers a reconcile.
//
// With Config.Prune, each call of Emit must return all intents of the parent, because objects without an intent are
// deleted. If Emit cannot know all intents, it must return an error. Objects are deleted only if the live parent still
// has the generation for which Emit was called. (For a kind without a generation, it must have the same
// resourceVersion.) The reconciler does not check whether other inputs of Emit are out of date.
package reconciler
