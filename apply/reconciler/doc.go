// Package reconciler turns a pure function, from a parent object to the intents
// that it calls for, into a controller-runtime reconciler.
//
// # What one reconcile does, in order
//
//  1. Gets the parent from the cache. Where there is none any more: Gone.
//  2. Leaves a parent with the annotation PausedAnnotation alone.
//  3. A parent that is being deleted: Cleanup; when it is done, with Config.Prune,
//     what the parent emitted is deleted, and what its partial intents set is
//     released; when that is gone, the finalizer goes.
//     Nothing is emitted.
//  4. Ensures the finalizer, before anything else is written. One that had to be
//     added ends the reconcile, and the next one begins at once; one that is there
//     writes nothing. Should the parent turn out to be paused or deleted by now, 2
//     and 3 hold.
//  5. Emit, which has no client and no clock: its intents follow from the parent
//     alone, and golden tests hold them.
//  6. Applies every intent, also after one failed. Children are the parent's own from
//     birth, see Config.Belongs.
//  7. With Config.Prune, and if all of them stand: deletes what the parent emitted
//     before and emits no longer.
//  8. Status: looks at the children, and writes the parent's status, by
//     get-modify-update or as an intent. Then, when that has landed, what must come
//     after it.
//
// # What becomes of errors
//
// An ownership conflict that the policy rejects is in the status, in an event and in the
// log, and is tried again a minute later or when parent or child change; it is no error of
// the reconcile, as nothing heals it by retrying at once. While it stays the same it is
// logged and told once. One that is settled is in an
// event, once. An object that is someone else's (apply.ErrNotOurs) is treated as a rejected
// conflict. A Namespace that is being deleted takes nothing new: that is in the status and
// in the log, and is tried again a minute later, without an event: a parent in it goes as
// well. A RetryableError waits as long as the server asked. Everything else is retried by
// the controller's rate limiter, and so is all of it when one error of several is such.
//
// # What the caller promises
//
// Emit is pure. Status makes its reads first and gives a change that is
// idempotent, touches only the fields that this reconciler writes, and has no side
// effects: it runs again after a stale write. Children are watched, so that an
// Absent outcome and drift lead to another reconcile.
//
// With Config.Prune: Emit gives everything that the parent calls for, each time.
// What it leaves out by mistake is deleted; where it cannot know, it returns an
// error. What it knows from elsewhere than the parent's spec may be old: pruning
// checks the parent's generation against the live parent, or the resourceVersion of
// one whose kind has no generation, and nothing else.
package reconciler
