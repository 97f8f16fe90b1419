package ownership

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// From names a field manager whose fields Migrate or Rename moves to the Applier's field manager.
type From struct {
	Manager string
	// Paths are the fields to move, each with all fields below it. If Paths is empty, all fields of the manager are
	// moved.
	Paths []string
}

// Migrate returns a Transfer that moves fields of the given managers to the Applier's field manager. It moves only
// fields that were written by Update, and makes them fields written by Apply. Update means a PUT, a POST or a patch
// that is not an apply: for example client-side kubectl apply, or a controller with get-modify-update. The given
// managers may include "before-first-apply". Nothing is written before Transfer.Do.
//
// Without Migrate, the first Apply makes the Applier a co-owner of the fields. If a later intent omits a field, the
// field then stays in the object, because the Update entry still owns the field. If a controller changes from
// get-modify-update to intents under the same field manager, include this field manager in from.
//
// The moved fields get the apiVersion of the given object, unless the Applier already has an Apply entry. Some fields
// cannot be moved, and fields that were written through a subresource may move to another entry, see
// fieldowners.Transfer. A name or a path that matches no field is not an error, see Transfer.Unmatched.
//
// Migrate returns one of these errors:
//   - *apply.IntentError: an argument is invalid, and no request was sent.
//   - *apply.UIDMismatchError: the given object has a UID, and the live object does not exist or has another UID.
//   - *apply.ContendedError: in each attempt, the object changed while Migrate read it in several apiVersions.
//   - *apply.RefusedError (for example, the object does not exist), *apply.RetryableError or the error of the context.
//
// Unlike csaupgrade of client-go, Migrate handles several apiVersions (csaupgrade drops fields of versions other than
// the target's) and all subresources, and can be undone.
func Migrate(ctx context.Context, applier *apply.Applier, object apply.ObjectRef, from ...From) (*Transfer, error) {
	return newTransfer(ctx, applier, "Migrate", metav1.ManagedFieldsOperationUpdate, object, from)
}

// Rename returns a Transfer that moves fields of the managers in from to the Applier's field manager, like Migrate, but
// only fields that were written by Apply. Use it to rename one manager, to merge several managers into the Applier's,
// or to split a manager by paths. The former manager must have stopped applying the fields: its next apply would make
// it a co-owner again. If from contains the Applier's own field manager, the fields that it applied through a
// subresource such as /scale move into its entry for the object itself.
//
// After Transfer.Do, an Apply of an intent with exactly the moved fields and their values returns the Outcome
// Unchanged.
func Rename(ctx context.Context, applier *apply.Applier, object apply.ObjectRef, from ...From) (*Transfer, error) {
	return newTransfer(ctx, applier, "Rename", metav1.ManagedFieldsOperationApply, object, from)
}

func newTransfer(ctx context.Context, applier *apply.Applier, verb string, operation metav1.ManagedFieldsOperationType, object apply.ObjectRef, from []From) (*Transfer, error) {
	sources, invalid := sourcesOf(from)
	t := &Transfer{applier: applier, verb: verb, object: object, fields: fieldowners.Transfer{
		From: sources, Operation: operation, To: applier.FieldManager(),
		APIVersion: object.GroupVersion().String(),
	}}
	return t.planned(ctx, invalid)
}

// planned reads the object and computes the first plan. The argument invalid is the error for the caller's arguments if
// they are invalid, and otherwise nil.
func (t *Transfer) planned(ctx context.Context, invalid error) (*Transfer, error) {
	err := wire.CheckReference(t.applier.Client(), t.object.GroupVersionKind, t.object.NamespacedName)
	if err == nil && invalid != nil {
		err = fmt.Errorf("%s: %w", t.verb, invalid)
	}
	if err != nil {
		return nil, &apply.IntentError{Object: t.object, Err: err}
	}
	exhausted, err := wire.Tries(ctx, apply.IsStaleWrite, func() error {
		state, err := t.read(ctx)
		if err == nil {
			t.shown = *state
		}
		return err
	})
	switch {
	case exhausted:
		return nil, &apply.ContendedError{Object: t.object, Err: err}
	case err != nil:
		return nil, err
	}
	t.unmatched = t.findUnmatched()
	t.object.UID = t.shown.live.GetUID()
	return t, nil
}

func sourcesOf(from []From) ([]fieldowners.Source, error) {
	if len(from) == 0 {
		return nil, errors.New("name at least one manager whose fields are to be moved")
	}
	var sources []fieldowners.Source
	for i, f := range from {
		paths, err := fieldowners.ParsePaths(f.Paths)
		switch {
		case f.Manager == "":
			err = errors.New("the name of a manager is needed")
		case slices.ContainsFunc(sources, func(s fieldowners.Source) bool { return s.Manager == f.Manager }):
			err = errors.New("the manager is named twice; put all paths into one From")
		case slices.Contains(f.Paths, ""):
			err = errors.New("a path is empty; leave Paths empty to move all fields")
		}
		if err != nil {
			return nil, fmt.Errorf("From[%d] (%s): %w", i, f.Manager, err)
		}
		sources = append(sources, fieldowners.Source{Manager: f.Manager, Paths: paths})
	}
	return sources, nil
}

// Undo returns a Transfer that moves fields back to their former owners, except fields that the Applier has given up in
// the meantime. Use it if the Transfer that Transfer.Do returned is not available, for example in another process. The
// argument moved is the result of Moves of the former Transfer, stored for example as JSON.
//
// The given object must have the uid of the object whose fields were moved. Transfer.Unmoved lists the fields that the
// Applier no longer owns. If it lists all fields, the transfer was already undone, or was never carried out. Undo
// returns the same errors as Migrate.
func Undo(ctx context.Context, applier *apply.Applier, object apply.ObjectRef, moved []fieldowners.Handover) (*Transfer, error) {
	t := &Transfer{applier: applier, verb: "Undo of Transfer", object: object, fields: fieldowners.TransferPlan{Moved: moved}.Undo(), undoes: true}
	return t.planned(ctx, checkMoved(applier.FieldManager(), object, moved))
}

func checkMoved(fieldManager string, object apply.ObjectRef, moved []fieldowners.Handover) error {
	switch {
	case object.UID == "":
		return errors.New("the reference to the object has no uid; set the uid of the object whose fields were moved")
	case len(moved) == 0:
		return errors.New("moved is empty: pass the Moves of the transfer to undo")
	}
	for i, m := range moved {
		toUs := m.To.Name == fieldManager && m.To.Operation == metav1.ManagedFieldsOperationApply && m.To.APIVersion != ""
		fromOne := m.From.Name != "" && m.From.Operation != "" && m.From.APIVersion != ""
		if !toUs || !fromOne || m.Path.IsRoot() || m.From.Subresource != m.To.Subresource && m.To.Subresource != "" {
			return fmt.Errorf("moved[%d] (%v) does not come from a Transfer of the field manager %s; pass the unmodified Moves of this Applier's Transfer",
				i, m, fieldManager)
		}
	}
	return nil
}

// Unmatched returns one message for each manager and for each path that Migrate or Rename did not find in the object.
// This is not an error, because often only some of many objects have fields to move. For an undo, Unmatched is empty.
func (t *Transfer) Unmatched() []string { return slices.Clone(t.unmatched) }

func (t *Transfer) findUnmatched() (none []string) {
	owned, _ := fieldowners.ParseReadable(t.shown.live.GetManagedFields()) // the plan was made from the same entries, so all can be parsed
	for _, source := range t.fields.From {
		who := fieldowners.Manager{Name: source.Manager, Operation: t.fields.Operation}
		if !owns(owned, who, fieldowners.Path{}) {
			none = append(none, fmt.Sprintf("%v owns no field of the object; %s", who,
				cmp.Or(t.otherVerb(owned, who, fieldowners.Path{}), ownersIn(owned))))
			continue
		}
		for _, path := range source.Paths {
			if !owns(owned, who, path) {
				text := fmt.Sprintf("%v owns no field at or below %v; %s", who, path, t.otherVerb(owned, who, path))
				none = append(none, strings.TrimSuffix(text, "; "))
			}
		}
	}
	return none
}

// owns reports whether the manager owns the field at the path, a field below the path, or an atomic list or map that
// contains the path. It considers all entries with the manager's name and operation, whatever their subresource.
func owns(owned fieldowners.Ownership, who fieldowners.Manager, path fieldowners.Path) bool {
	return slices.ContainsFunc(owned.Entries(), func(e fieldowners.Entry) bool {
		return e.Name == who.Name && e.Operation == who.Operation &&
			(slices.ContainsFunc(e.Fields(), func(field fieldowners.Path) bool { return field.HasPrefix(path) }) ||
				slices.ContainsFunc(e.Leaves(), path.HasPrefix))
	})
}

func ownersIn(owned fieldowners.Ownership) string {
	owners := sets.New[string]()
	for _, entry := range owned.Entries() {
		owners.Insert(entry.Manager.String())
	}
	if len(owners) == 0 {
		return "no owners are recorded"
	}
	return "the owners are " + strings.Join(sets.List(owners), ", ")
}

// otherVerb returns a hint if the manager owns fields by the operation that this Transfer ignores, and otherwise "".
func (t *Transfer) otherVerb(owned fieldowners.Ownership, who fieldowners.Manager, path fieldowners.Path) string {
	verb := "Migrate"
	who.Operation = metav1.ManagedFieldsOperationUpdate
	if t.fields.Operation == metav1.ManagedFieldsOperationUpdate {
		who.Operation, verb = metav1.ManagedFieldsOperationApply, "Rename"
	}
	switch {
	case !owns(owned, who, path):
		return ""
	case verb == "Rename" && who.Name == t.fields.To:
		return "the manager already owns fields by Apply"
	}
	return fmt.Sprintf("the manager owns fields by %s: use %s", who.Operation, verb)
}
