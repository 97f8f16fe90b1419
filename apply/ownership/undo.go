package ownership

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

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
