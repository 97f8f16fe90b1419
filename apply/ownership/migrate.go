package ownership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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

// Undo returns a Transfer that gives back fields which this applier took, as the undo of
// Transfer.Do does, but in another process: moved are the Moves of the transfer that was done,
// kept as JSON for example. Nothing is written before Transfer.Do, which leaves out what was
// given up since. After it the fields that move have their former owners again, and no other
// owner changes.
//
// The reference needs the uid of the object that moved was taken from. Fields that the applier
// no longer owns are listed by Transfer.Unmoved; if these are all, the transfer was undone
// already, or never done.
//
// Errors are those of Migrate.
func Undo(ctx context.Context, applier *apply.Applier, object apply.ObjectRef, moved []fieldowners.Handover) (*Transfer, error) {
	if err := wire.CheckReference(applier.Client(), object.GroupVersionKind, object.NamespacedName); err != nil {
		return nil, &apply.IntentError{Object: object, Err: err}
	}
	if err := checkMoved(applier.FieldManager(), object, moved); err != nil {
		return nil, &apply.IntentError{Object: object, Err: fmt.Errorf("Undo: %w", err)}
	}
	t := &Transfer{applier: applier, verb: "Undo of Transfer", object: object, fields: fieldowners.TransferPlan{Moved: moved}.Undo(), undoes: true}
	var err error
	if t.shown, err = t.read(ctx); err != nil {
		return nil, err
	}
	return t, nil
}

func checkMoved(fieldManager string, object apply.ObjectRef, moved []fieldowners.Handover) error {
	switch {
	case object.UID == "":
		return errors.New("the reference to the object lacks its uid")
	case len(moved) == 0:
		return errors.New("nothing has moved")
	}
	for i, m := range moved {
		switch {
		case m.Path.IsRoot():
			return fmt.Errorf("moved[%d]: a path is needed", i)
		case m.To.Name != fieldManager || m.To.Operation != metav1.ManagedFieldsOperationApply:
			return fmt.Errorf("moved[%d]: %s went to %s, not to %s/Apply", i, m.Path, m.To, fieldManager)
		case m.From.Name == "" || m.From.Operation != metav1.ManagedFieldsOperationApply && m.From.Operation != metav1.ManagedFieldsOperationUpdate:
			return fmt.Errorf("moved[%d]: %s came from %s, which is no field manager", i, m.Path, m.From)
		case m.From.Subresource != m.To.Subresource && m.To.Subresource != "":
			return fmt.Errorf("moved[%d]: %s went from one subresource to another", i, m.Path)
		case m.From.APIVersion == "" || m.To.APIVersion == "":
			return fmt.Errorf("moved[%d]: %s lacks an apiVersion", i, m.Path)
		}
	}
	return nil
}

// Unmatched returns a text for each From, and each of its Paths, for which no field was found,
// with the names that may have been meant. It is not an error: of many objects some have
// nothing to move. For an undo it is empty.
func (t *Transfer) Unmatched() []string { return slices.Clone(t.unmatched) }

// findUnmatched is for managed fields that could be planned from: each entry can be read.
func (t *Transfer) findUnmatched() (none []string) {
	owned, _ := fieldowners.ParseReadable(t.shown.Before())
	for _, source := range t.fields.From {
		who := fieldowners.Manager{Name: source.Manager, Operation: t.fields.Operation}
		if !owns(owned, who, fieldowners.Path{}) {
			none = append(none, fmt.Sprintf("%v owns nothing here; %s", who, t.whoElse(owned, who)))
			continue
		}
		for _, path := range source.Paths {
			if !owns(owned, who, path) {
				none = append(none, fmt.Sprintf("%v owns nothing at or below %v%s", who, path, t.otherVerb("; ", owned, who, path)))
			}
		}
	}
	return none
}

// owns reports whether the manager wrote, through whichever subresource, a field at
// or below the path, or owns as a whole what the path is a part of.
func owns(owned fieldowners.Ownership, who fieldowners.Manager, path fieldowners.Path) bool {
	return slices.ContainsFunc(owned.Entries(), func(e fieldowners.Entry) bool {
		return e.Name == who.Name && e.Operation == who.Operation &&
			(slices.ContainsFunc(e.Fields(), func(field fieldowners.Path) bool { return field.HasPrefix(path) }) ||
				slices.ContainsFunc(e.Leaves(), path.HasPrefix))
	})
}

// whoElse returns a text that names the owners of the object, for a manager that is not among
// them.
func (t *Transfer) whoElse(owned fieldowners.Ownership, who fieldowners.Manager) string {
	if other := t.otherVerb("", owned, who, fieldowners.Path{}); other != "" {
		return other
	}
	var owners []string
	for _, entry := range owned.Entries() {
		if name := entry.Manager.String(); !slices.Contains(owners, name) {
			owners = append(owners, name)
		}
	}
	if len(owners) == 0 {
		return "nobody is recorded as an owner"
	}
	return "the owners are " + strings.Join(owners, ", ")
}

// otherVerb returns a text for a manager that owns the fields by the other operation; "" for
// others.
func (t *Transfer) otherVerb(before string, owned fieldowners.Ownership, who fieldowners.Manager, path fieldowners.Path) string {
	verb := "Migrate"
	switch who.Operation {
	case metav1.ManagedFieldsOperationApply:
		who.Operation = metav1.ManagedFieldsOperationUpdate
	default:
		who.Operation, verb = metav1.ManagedFieldsOperationApply, "Rename"
	}
	switch {
	case !owns(owned, who, path):
		return ""
	case verb == "Rename" && who.Name == t.fields.To:
		return before + "it owns by Apply already"
	}
	return fmt.Sprintf("%sit owns by %s: use %s", before, who.Operation, verb)
}
