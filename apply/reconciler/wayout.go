package reconciler

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// wayOut returns for each owner in conflict how its fields become the applier's. For the
// applier's own name the error says so itself. For a subresource there is no step: who rightly
// owns a status is not for a command to decide.
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

// takeOver differs by how the owner wrote: what it applied it applies again.
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
