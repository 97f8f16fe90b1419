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
//  2. The first attempt works on a deep copy of the object handed in, without a
//     read. Every further attempt reads live. An object without uid or
//     resourceVersion is a name only: its first attempt reads live as well.
//  3. mutate is called once an attempt, on that attempt's object, and sees no
//     managed fields.
//  4. A mutate that changes nothing (nil and empty are alike) sends no write. On
//     the first attempt this trusts the object handed in, so that a steady state
//     costs no request; what is stale in it arrives as the next event.
//  5. A write carries the resourceVersion that was read, and no managed fields:
//     the server keeps the live ones, while a partial list, as a stripped cache
//     gives, would erase the entries of others.
//  6. Only a stale write is retried. Every other error ends the call: those of the
//     API server as apply.Classify types them, NotFound as apierrors.IsNotFound
//     knows it.
//  7. An object recreated under the same name is not touched: apply.ErrUIDMismatch.
//     RemoveFinalizer takes an absent object for success.
//  8. A budget that runs out is an ExhaustedError, a context that ends between
//     attempts an InterruptedError. Both say how many attempts there were and wrap
//     the last error; return them from Reconcile and it runs again later.
//
// # Contract of the caller
//
//  1. Read inside the closure: mutate works on the object it is given. What was
//     captured outside is as old as the call, and written on every attempt.
//  2. mutate is idempotent. After a stale write nothing has landed, and even an
//     increment may run again on the fresh object. After a lost answer the write
//     may have landed, and the repeated call increments twice.
//  3. Side effects (notifications, requests to others) stand after the call, where
//     they happen once.
//  4. NotFound is handled: the object may be deleted at any time.
//  5. Nothing is created inside a closure, and nothing decided on a count.
//  6. Set single fields. A closure that replaces the whole status or spec with
//     what it knew before loses what others wrote, without any 409.
//  7. Do is for metadata and spec, Status for the status. The server drops the
//     rest silently when the kind has a status subresource.
//  8. The Go type is as new as the server's: a PUT of an older one drops the
//     fields it does not know. *unstructured.Unstructured knows all of them.
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
