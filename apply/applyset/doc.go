// Package applyset applies what a parent emits, and deletes what it emitted before and no
// longer emits, by the rules of KEP-3659.
//
// # What the package promises
//
//  1. Whatever step a process dies at, nothing is orphaned: the parent names where members
//     may be before the first of them is applied there.
//  2. A label alone deletes nothing. A member is deleted if the Applier's field manager owns
//     its label and no object but the parent owns it, by the uid and resourceVersion that
//     were judged. Members that are kept are returned with the reason.
//  3. Nothing is deleted unless everything that the parent emits was applied, and the parent,
//     read past the cache, is still the one that was emitted from.
//  4. An object is in one set at most, and a set has one field manager.
//  5. Fields of a partial intent (MustExist or a Subresource) are released; its object is not
//     deleted.
//  6. A steady state costs no request.
//
// Errors are those of package apply, and a PruneError that lists them.
//
// # What the caller does
//
//  1. Emits everything that the parent calls for in each round, or returns an error: what is
//     left out is deleted.
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
// Invalid: an emit that leaves out what it could not look up, which would be deleted. Return
// the error, and nothing is deleted.
//
// Invalid: two Sets under one field manager for the parents of one kind, in two processes
// that run at the same time. Each can take a member that the other is about to apply.
package applyset
