// Package applyset applies the objects that a parent emits, and deletes the objects that the parent
// emitted before and no longer emits, by the rules of KEP-3659.
//
// # What the package promises
//
//  1. No object is orphaned, even if the process dies at any step: the parent records the kinds
//     and namespaces of its members before the first member is applied there.
//  2. A label alone deletes nothing. A member is deleted if the Applier's field manager owns
//     its label and no object but the parent owns it, by the uid and resourceVersion that
//     were judged. Members that are kept are returned with the reason.
//  3. Nothing is deleted unless all emitted intents were applied, and a live read shows that the
//     parent has not changed since the intents were emitted.
//  4. An object is in one set at most, and a set has one field manager.
//  5. Fields of a partial intent (MustExist or a Subresource) are released; its object is not
//     deleted.
//  6. A steady state costs no request.
//
// Errors are those of package apply, and a PruneError that lists them.
//
// # What the caller does
//
//  1. Emits all objects of the parent in each round, or returns an error. Objects that are left out
//     are deleted.
//  2. Keeps one Sets for a field manager, in one process at a time, and applies one round at
//     a time for a parent.
//  3. Gives the parent a finalizer, and calls Sets.Delete before removing it.
//
// Valid:
//
//	sets, err := applyset.New(applier)
//	round := sets.Apply(ctx, parent, func() ([]apply.Intent, error) { return emit(parent) })
//	if len(round.Errs) == 0 {
//		pruned, err := round.Prune(ctx)
//	}
//
// Invalid: an emit that leaves out an object because a lookup failed. The object would be deleted.
// Return the error, and nothing is deleted.
//
// Invalid: two Sets under one field manager for the parents of one kind, in two processes
// that run at the same time. Each can take a member that the other is about to apply.
package applyset
