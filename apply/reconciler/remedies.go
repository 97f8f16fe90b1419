package reconciler

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/command"
)

// remedies returns for each owner in conflict how its fields become the applier's. It returns no
// step for the applier's own name, as the error has it, nor for a subresource: a command cannot
// decide who should own a status.
func remedies(conflict *apply.ConflictError) (steps []string) {
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
// the fields would apply them again. Without --yes, the command only shows what would move.
func takeOver(conflict *apply.ConflictError, owner fieldowners.Manager, fields []fieldowners.Path) string {
	if owner.Operation == metav1.ManagedFieldsOperationApply {
		return fmt.Sprintf("to let %s set %s, take %s out of what %s applies", conflict.FieldManager, joined(fields), itOrThem(fields), owner.Name)
	}
	object := conflict.Object
	subject := command.Subject{Group: object.Group, Kind: object.Kind, Namespace: object.Namespace, Name: object.Name}
	migrate := command.Migrate(owner.Name, conflict.FieldManager, fields...)
	return fmt.Sprintf("if %s does not write there any more: %s --yes", owner.Name, strings.Replace(migrate, command.Placeholder, subject.Target(), 1))
}

func itOrThem(fields []fieldowners.Path) string {
	if len(fields) == 1 {
		return "it"
	}
	return "them"
}

// joined returns the first few fields as text.
func joined(fields []fieldowners.Path) string {
	const most = 5
	var texts []string
	for _, path := range fields[:min(most, len(fields))] {
		texts = append(texts, path.String())
	}
	if more := len(fields) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}
