// Package update is the fallback for what Server-Side Apply does not fit,
// finalizers and a status that one writer replaces field by field:
// get-modify-update with RetryOnConflict.
//
// RetryOnConflict and OnError are client-go's util/retry made context-aware, and
// they tell a stale write (the resourceVersion moved on: read again and it heals)
// from an ownership conflict (another field manager owns the field: no retry
// heals it). Do, Status, EnsureFinalizer and RemoveFinalizer stand on them.
//
// # Contract of the four verbs
//
//  1. The object handed in is never written to: it may be the cache's own. The
//     object after the call is in the Result.
//  2. The object handed in decides one thing: whether there is anything to write.
//     When mutate changes nothing of a copy of it (nil and empty are alike), no
//     request is sent and no attempt is made, so that a steady state costs nothing;
//     what others wrote since arrives as the next event. That is not asked of an object
//     from before the updater's own last write to it: it may look as wanted because
//     that write is not in the cache yet, and is read live. That there is something
//     to write is never taken from it: every attempt, the first as well, reads live
//     and asks mutate again. So a write costs a read and a PUT, however far the
//     cache lags, and one that somebody else has made meanwhile costs the read
//     alone. Where calls wait for each other the answer to one's write is the next one's
//     read, and a write costs the PUT: should another process have written in between,
//     it is stale, and the object is read in the same turn. An object without uid or
//     resourceVersion is a name only, and is not looked at.
//  3. mutate is called once on the copy, if that is looked at, and in each attempt on the
//     object as the call before left it, if it did, and on the one that is read. It sees
//     no managed fields. Its error on what was read ends the call; before that it decides
//     nothing, as it may come of what is old there. Only ErrIdentityChanged ends the call
//     at once.
//  4. An attempt that finds nothing to write any more sends no write, and is a
//     success with Changed false. It is inside the object's lane (Config.Lanes) from
//     the read to the write, so that no other write of the process comes between
//     them: what is stale then is another process's doing. A call that backs off, and
//     one that has nothing to write, is in no lane.
//  5. A write is narrow: the object as the server has it, to the byte, with what mutate
//     changed. Fields that the Go type does not know, 1024Mi that it would write as
//     1Gi, empty structs and zero values stay as they were, and with them whoever owns
//     them. So do the items of lists that mutate did not touch, where others were added,
//     removed or moved; an item that it did change is found again by its key, as keys
//     are usually called, or by what it has in common. What the server did not have is
//     sent whole, with the zero values that the Go type writes. Unstructured and typed
//     callers send the same.
//  6. It carries the resourceVersion that was read, and no managed fields: the server
//     keeps the live ones, while a partial list, as a stripped cache gives, would erase
//     the entries of others.
//  7. Only a stale write is retried. Every other error ends the call: those of the
//     API server as apply.Classify types them, NotFound as apierrors.IsNotFound
//     knows it.
//  8. An object recreated under the same name is not touched: apply.ErrUIDMismatch.
//     RemoveFinalizer takes an absent object for success.
//  9. A budget that runs out is an ExhaustedError, a context that ends between
//     attempts, or while one waits for the lane, an InterruptedError. Both say how
//     many attempts there were and wrap the last error; return them from Reconcile
//     and it runs again later.
//
// # Contract of the caller
//
//  1. Read inside the closure: mutate works on the object it is given. What was
//     captured outside is as old as the call, and written on every attempt.
//  2. mutate is idempotent, and keeps nothing from one call of it to the next: the
//     first one's object is never written. After a stale write nothing has landed,
//     and even an increment may run again on the fresh object. After a lost answer
//     the write may have landed, and the repeated call increments twice.
//     It writes to no object, and least of all to the one that it is given: it would
//     wait for the lane that it is in, until its context ends.
//  3. Side effects (notifications, requests to others) stand after the call, where
//     they happen once.
//  4. NotFound is handled: the object may be deleted at any time.
//  5. Nothing is created inside a closure, and nothing decided on a count.
//  6. Set single fields. A closure that replaces the whole status or spec with
//     what it knew before loses what others wrote, without any 409.
//  7. Do is for metadata and spec, Status for the status. The server drops the
//     rest silently when the kind has a status subresource.
//
// Valid:
//
//	result, err := update.Status(ctx, updater, box, func(box *v1alpha1.Devbox) error {
//		box.Status.Phase = phase // the fields this reconciler knows, no others
//		return nil
//	})
//
// Invalid: it writes a status read long before the attempt. Whatever other
// reconcilers wrote in between is lost, and the write succeeds:
//
//	mine := box.Status
//	mine.Phase = phase
//	result, err := update.Status(ctx, updater, box, func(latest *v1alpha1.Devbox) error {
//		latest.Status = mine
//		return nil
//	})
package update
