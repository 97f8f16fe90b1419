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

// From names a field manager whose fields Migrate or Rename should move to the applier's field manager.
type From struct {
	Manager string
	// Paths are the fields to move, each with all fields below it. If Paths is empty, all fields
	// of the manager move.
	Paths []string
}

// Migrate returns a Transfer that moves fields written by Update to the applier's field manager, as
// fields written by Apply. Update means a PUT, a POST or a patch that is not an apply. Examples are
// client-side kubectl apply, a controller with get-modify-update, and "before-first-apply". Fields that
// were written through /scale move into the applier's entry for the object itself. Otherwise the
// applier's next Apply would conflict with its own entry for /scale. Fields of the status stay in an
// entry for the status. Nothing is written before Transfer.Do.
//
// Without Migrate, the first Apply makes the applier a co-owner of the fields. Fields that later
// intents omit would then stay in the object, because the Update entry still owns them. A controller
// that changes from get-modify-update to intents can put the applier's own field manager into from.
//
// The fields get the apiVersion of object, unless the applier already has an Apply entry. Some fields
// stay with their owner, see fieldowners.Transfer. If object has a UID, the error for an object with
// another uid is a UIDMismatchError. If names or paths in from match no field, there is no error: see
// Transfer.Unmatched.
//
// Errors are *apply.IntentError (before any request), *apply.UIDMismatchError,
// *apply.ContendedError (on each try, the object changed between its reads in several apiVersions),
// *apply.RetryableError, *apply.RefusedError (also if the object does not exist) or the error of ctx.
//
// Unlike csaupgrade of client-go, Migrate handles several apiVersions (csaupgrade drops fields of
// versions other than the target's) and all subresources, and can be undone.
func Migrate(ctx context.Context, applier *apply.Applier, object apply.ObjectRef, from ...From) (*Transfer, error) {
	return newTransfer(ctx, applier, "Migrate", metav1.ManagedFieldsOperationUpdate, object, from)
}

// Rename returns a Transfer that moves fields written by Apply to the applier's field manager, by the
// rules of Migrate. It can rename one manager, merge several managers into the applier's, or split a
// manager by paths. The former manager must have stopped applying, or its next apply makes it a co-owner
// again. If from has the applier's own field manager, the fields that it applied through a subresource
// such as /scale move into its entry for the object itself.
//
// After Transfer.Do, the Outcome of an Apply of an intent with the moved fields is Unchanged.
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
		return nil, errors.New("name at least one manager whose fields are to be moved")
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
			return nil, fmt.Errorf("From[%d] (%s): a path is empty; leave Paths empty to move all fields", i, f.Manager)
		}
		paths, err := fieldowners.ParsePaths(f.Paths)
		if err != nil {
			return nil, fmt.Errorf("From[%d] (%s): %w", i, f.Manager, err)
		}
		sources = append(sources, fieldowners.Source{Manager: f.Manager, Paths: paths})
	}
	return sources, nil
}

// Undo returns a Transfer that moves fields back to their former owners, like the undo that Transfer.Do
// returns, but possibly in another process. moved is the result of Moves of the Transfer that was
// carried out, stored for example as JSON. Nothing is written before Transfer.Do, which skips fields
// that the applier has given up since. No other owners change.
//
// object must have the uid of the object whose fields were moved. Transfer.Unmoved lists the fields that
// the applier no longer owns. If Unmoved lists all fields, the transfer was already undone, or was never
// carried out. The errors are the same as those of Migrate.
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
		return errors.New("moved is empty: pass the Moves of the transfer to undo")
	}
	for i, m := range moved {
		switch {
		case m.Path.IsRoot():
			return fmt.Errorf("moved[%d]: the path is empty", i)
		case m.To.Name != fieldManager || m.To.Operation != metav1.ManagedFieldsOperationApply:
			return fmt.Errorf("moved[%d]: %s was moved to %s, not to %s/Apply", i, m.Path, m.To, fieldManager)
		case m.From.Name == "" || m.From.Operation != metav1.ManagedFieldsOperationApply && m.From.Operation != metav1.ManagedFieldsOperationUpdate:
			return fmt.Errorf("moved[%d]: %s was moved from %s, which is not a field manager", i, m.Path, m.From)
		case m.From.Subresource != m.To.Subresource && m.To.Subresource != "":
			return fmt.Errorf("moved[%d]: %s was moved from one subresource to another", i, m.Path)
		case m.From.APIVersion == "" || m.To.APIVersion == "":
			return fmt.Errorf("moved[%d]: %s lacks an apiVersion", i, m.Path)
		}
	}
	return nil
}

// Unmatched returns one text for each manager and each path, passed to Migrate or Rename, that matched
// no field. The text for a manager names the owners of fields of the object. An unmatched manager or path
// is no error, as often only some of many objects have fields to move. Unmatched is empty for an undo.
func (t *Transfer) Unmatched() []string { return slices.Clone(t.unmatched) }

// findUnmatched returns the result of Unmatched. All managed fields entries of the object can be
// parsed, because a plan was made from them.
func (t *Transfer) findUnmatched() (none []string) {
	owned, _ := fieldowners.ParseReadable(t.shown.Before())
	for _, source := range t.fields.From {
		who := fieldowners.Manager{Name: source.Manager, Operation: t.fields.Operation}
		if !owns(owned, who, fieldowners.Path{}) {
			none = append(none, fmt.Sprintf("%v owns no field of the object; %s", who, t.whoElse(owned, who)))
			continue
		}
		for _, path := range source.Paths {
			if !owns(owned, who, path) {
				none = append(none, fmt.Sprintf("%v owns no field at or below %v%s", who, path, t.otherVerb("; ", owned, who, path)))
			}
		}
	}
	return none
}

// owns reports whether the manager owns the field at the path, a field below the path, or an atomic field that
// contains the path. Entries of the manager's operation count, whatever their subresource.
func owns(owned fieldowners.Ownership, who fieldowners.Manager, path fieldowners.Path) bool {
	return slices.ContainsFunc(owned.Entries(), func(e fieldowners.Entry) bool {
		return e.Name == who.Name && e.Operation == who.Operation &&
			(slices.ContainsFunc(e.Fields(), func(field fieldowners.Path) bool { return field.HasPrefix(path) }) ||
				slices.ContainsFunc(e.Leaves(), path.HasPrefix))
	})
}

// whoElse returns a text for a manager that owns no field of the object: it names the object's owners.
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
		return "no owners are recorded"
	}
	return "the owners are " + strings.Join(owners, ", ")
}

// otherVerb returns a text, which begins with before, if the manager owns the fields by the other
// operation (Apply instead of Update, or Update instead of Apply). Otherwise it returns "".
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
		return before + "the manager already owns fields by Apply"
	}
	return fmt.Sprintf("%sthe manager owns fields by %s: use %s", before, who.Operation, verb)
}
