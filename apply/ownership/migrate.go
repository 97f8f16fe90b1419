package ownership

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// From names a manager whose fields a transfer takes.
type From struct {
	Manager string
	// Paths are the fields to take, with everything below them. If Paths is empty, all fields
	// of the manager are taken.
	Paths []string
}

// Migrate returns a Transfer that brings fields written by Update (PUT, POST or a patch that is
// not an apply: client-side kubectl apply, a controller with get-modify-update,
// "before-first-apply") under this applier's management. What was written through /scale moves
// into the applier's entry of the object, as its next Apply would otherwise conflict with
// itself; the status keeps an entry of its own. Nothing is written before Transfer.Do.
//
// Without Migrate the first Apply co-owns those fields, and what later intents leave out stays
// on the object, because the Update entry still owns it.
//
// The applier's own name may be in from: a controller that moves from get-modify-update to
// intents.
//
// The fields are named in object's apiVersion, unless the applier has Apply entries already;
// see fieldowners.Transfer for what stays with its owner. If object has a UID, only that object
// is meant. Names and paths that match nothing are not an error: see Transfer.Unmatched.
//
// Errors are *apply.IntentError (before any request), *apply.UIDMismatchError,
// *apply.ContendedError (the object changed between reads in several apiVersions, each time),
// *apply.RetryableError, *apply.RefusedError (also for an object that does not exist) or the
// context's.
//
// Beyond what client-go's csaupgrade does, it handles several apiVersions (csaupgrade drops
// fields of versions other than the target's), all subresources, and undo.
func Migrate(ctx context.Context, applier *apply.Applier, object apply.ObjectRef, from ...From) (*Transfer, error) {
	return newTransfer(ctx, applier, "Migrate", metav1.ManagedFieldsOperationUpdate, object, from)
}

// Rename is Migrate for fields that other managers applied: one manager is renamed, several are
// merged into this one, and paths split one. The former manager must have stopped applying, or
// it becomes a co-owner again.
//
// The applier's own name in from moves what it applied through a subresource such as /scale
// into its entry of the object, from which it is to apply from now on.
//
// The next Apply of an intent with the fields taken is Unchanged.
func Rename(ctx context.Context, applier *apply.Applier, object apply.ObjectRef, from ...From) (*Transfer, error) {
	return newTransfer(ctx, applier, "Rename", metav1.ManagedFieldsOperationApply, object, from)
}

func newTransfer(ctx context.Context, applier *apply.Applier, verb string, operation metav1.ManagedFieldsOperationType, object apply.ObjectRef, from []From) (*Transfer, error) {
	if err := wire.CheckReference(applier.Client(), object.GroupVersionKind, object.NamespacedName); err != nil {
		return nil, &apply.IntentError{Object: object, Err: err}
	}
	sources, err := sourcesOf(from)
	if err != nil {
		return nil, &apply.IntentError{Object: object, Err: fmt.Errorf("%s: %w", verb, err)}
	}
	t := &Transfer{applier: applier, verb: verb, object: object, fields: fieldowners.Transfer{
		From: sources, Operation: operation, To: applier.FieldManager(),
		APIVersion: object.GroupVersion().String(),
	}}
	if t.shown, err = t.read(ctx); err != nil {
		return nil, err
	}
	t.unmatched = t.findUnmatched()
	t.object.UID = t.shown.Live.GetUID()
	return t, nil
}

func sourcesOf(from []From) ([]fieldowners.Source, error) {
	if len(from) == 0 {
		return nil, errors.New("name at least one manager whose fields are to be taken")
	}
	var sources []fieldowners.Source
	for i, f := range from {
		switch {
		case f.Manager == "":
			return nil, fmt.Errorf("From[%d]: the name of a manager is needed", i)
		case slices.ContainsFunc(sources, func(s fieldowners.Source) bool { return s.Manager == f.Manager }):
			return nil, fmt.Errorf("From[%d]: %s is named twice; put all paths into one From", i, f.Manager)
		}
		if slices.Contains(f.Paths, "") {
			return nil, fmt.Errorf("From[%d] (%s): an empty path; leave Paths empty to take all", i, f.Manager)
		}
		paths, err := fieldowners.ParsePaths(f.Paths)
		if err != nil {
			return nil, fmt.Errorf("From[%d] (%s): %w", i, f.Manager, err)
		}
		sources = append(sources, fieldowners.Source{Manager: f.Manager, Paths: paths})
	}
	return sources, nil
}
