package lint

import (
	"fmt"
	"slices"

	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/command"
)

// sharedByUpdate finds values that both an applier and a manager that wrote by Update own, for
// example after kubectl scale to another number and back. They do no harm until the applier
// wants another value, which is a conflict. Cases of other rules are left out.
func (l linting) sharedByUpdate() []Finding {
	var found []Finding
	for _, updated := range l.managers {
		if l.standsForOthers(updated) || l.isUnserved(updated.APIVersion) {
			continue
		}
		appliers, shared := l.sharedWithAppliers(updated)
		shared = slices.DeleteFunc(shared, func(path fieldowners.Path) bool {
			return !isNamed(path) || path.IsKeyField()
		})
		if len(shared) == 0 || l.isUnserved(appliers[0].APIVersion) {
			continue
		}
		f := newFinding(RuleSharedByUpdate, append([]fieldowners.Manager{updated.Manager}, appliers...), shared)
		f.Message = fmt.Sprintf("%s owns %s together with %s: the next other value that %s applies conflicts, unless it forces; move what %s does not write any more",
			updated.Manager, count(len(shared), "field"), appliers[0], appliers[0].Name, updated.Name)
		f.Remedy = command.EndSharing(appliers[0], updated.Manager, shared)
		found = append(found, f)
	}
	return found
}

// isNamed reports whether the path ends in a field or map key, not in a list item.
func isNamed(path fieldowners.Path) bool {
	elements := path.FieldPath()
	return elements[len(elements)-1].FieldName != nil
}
