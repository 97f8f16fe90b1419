package reconciler

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// wayOut returns for each owner in conflict how its fields become the applier's. It returns no
// step for the applier's own name, as the error has it, nor for a subresource: a command cannot
// decide who should own a status.
func wayOut(conflict *apply.ConflictError) (steps []string) {
	if conflict.Subresource != "" {
		return nil
	}
	paths := map[fieldowners.Manager][]fieldowners.Path{}
	var others []fieldowners.Manager
	for _, c := range conflict.Conflicts {
		if c.Decision != apply.Reject || c.Own || c.Path.IsRoot() {
			continue
		}
		if len(paths[c.Manager]) == 0 {
			others = append(others, c.Manager)
		}
		paths[c.Manager] = append(paths[c.Manager], c.Path)
	}
	for _, other := range others {
		steps = append(steps, takeOver(conflict, other, paths[other]))
	}
	return steps
}

// takeOver returns the step for one owner. It depends on how the owner wrote: one that applied
// the fields would apply them again.
func takeOver(conflict *apply.ConflictError, owner fieldowners.Manager, fields []fieldowners.Path) string {
	us := fieldowners.Manager{Name: conflict.FieldManager, Operation: metav1.ManagedFieldsOperationApply}
	if owner.Operation == metav1.ManagedFieldsOperationApply {
		return fmt.Sprintf("to let %s set %s, take %s out of what %s applies", us.Name, joined(fields), itOrThem(fields), owner.Name)
	}
	return fmt.Sprintf("if %s does not write there any more: %s", owner.Name, migration(conflict.Object, us, owner, fields))
}

func itOrThem(fields []fieldowners.Path) string {
	if len(fields) == 1 {
		return "it"
	}
	return "them"
}
