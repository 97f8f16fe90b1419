package lint

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/command"
)

// selfConflicts finds fields that a manager owns through a subresource such as /scale beside
// what it applies: for the API server these are two owners. Older migrations left such entries,
// and `kubectl scale` does if `kubectl apply --server-side` wrote the object. Fields that the
// manager both applies with the object and wrote by Update are left to updateAndApply.
func (l linting) selfConflicts() []Finding {
	var found []Finding
	for _, beside := range l.managers {
		applied := l.mainEntry(beside.Name)
		if applied == nil {
			continue
		}
		var paths []fieldowners.Path
		for _, path := range beside.Leaves() {
			if beside.WritesAround(path) && (beside.Operation == metav1.ManagedFieldsOperationApply || !applied.Owns(path)) {
				paths = append(paths, path)
			}
		}
		if len(paths) == 0 {
			continue
		}
		f := newFinding(RuleSelfConflict, []fieldowners.Manager{beside.Manager, applied.Manager}, paths)
		f.Message = fmt.Sprintf("%s applies the object, and %s owns %s: to the API server two owners, so that %[1]s conflicts with itself "+
			"when it applies another value", applied.Name, beside.Manager, count(f.Fields, "field"))
		f.Remedy = command.Migrate(beside.Name, beside.Name)
		if beside.Operation == metav1.ManagedFieldsOperationApply {
			f.Remedy += " --operation Apply"
		}
		found = append(found, f)
	}
	return found
}

// mainEntry returns the entry of what the manager applied to the object itself; nil if there is
// none.
func (l linting) mainEntry(name string) *fieldowners.Entry {
	for _, entry := range l.named(name, metav1.ManagedFieldsOperationApply) {
		if entry.Subresource == "" {
			return &entry
		}
	}
	return nil
}
