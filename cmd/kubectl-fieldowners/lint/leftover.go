package lint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/dustin/go-humanize/english"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
	"coapply.dev/internal/command"
)

// The rules in this file are about fields that an Update entry shares with an applier. When the
// applier no longer lists a shared field, the field stays on the object, owned by the Update entry.

// leftOf finds fields that the given earlier writer (before-first-apply or kubectl-client-side-apply) owns by Update
// and shares with appliers. The remedy is only right if the earlier writer does not write any more.
func (l linting) leftOf(name string, rule Rule) []Finding {
	var found []Finding
	for _, left := range l.named(name, metav1.ManagedFieldsOperationUpdate) {
		appliers, shared := l.sharedWithAppliers(left)
		if len(shared) == 0 {
			continue
		}
		f := newFinding(rule, append([]fieldowners.Manager{left.Manager}, appliers...), shared)
		with := appliers[0].String()
		if more := len(appliers) - 1; more > 0 {
			with += fmt.Sprintf(" and %d more", more)
		}
		f.Message = fmt.Sprintf("%s owns %s together with %s: fields that an applier no longer lists stay on the object",
			left.Manager, english.Plural(len(shared), "field", ""), with)
		f.Remedy = command.Migrate(left.Name, appliers[0].Name)
		found = append(found, f)
	}
	return found
}

// sharedWithAppliers returns the leaf fields that the given entry shares with appliers, and these appliers. The
// applier with the most shared fields is first.
func (l linting) sharedWithAppliers(entry fieldowners.Entry) (appliers []fieldowners.Manager, shared []fieldowners.Path) {
	counts := map[fieldowners.Manager]int{}
	for _, leaf := range entry.Leaves() {
		owned := false
		for _, applier := range l.managers {
			if applier.Operation == metav1.ManagedFieldsOperationApply && applier.Owns(leaf) {
				counts[applier.Manager]++
				owned = true
			}
		}
		if owned {
			shared = append(shared, leaf)
		}
	}
	appliers = slices.SortedFunc(maps.Keys(counts), func(a, b fieldowners.Manager) int { return cmp.Or(counts[b]-counts[a], a.Compare(b)) })
	return appliers, shared
}

// updateAndApply finds fields that a manager owns by Update although it also applies the object. Usually, the manager
// changed to Server-Side Apply without migrating its fields. Two kinds of fields are reported only if the manager
// also owns them by Apply:
//   - fields that a migration does not move, such as finalizers;
//   - fields that the manager updates through another subresource.
func (l linting) updateAndApply() []Finding {
	var found []Finding
	for _, updated := range l.managers {
		applied := l.named(updated.Name, metav1.ManagedFieldsOperationApply)
		if updated.Operation != metav1.ManagedFieldsOperationUpdate || len(applied) == 0 {
			continue
		}
		sameWay := slices.ContainsFunc(applied, func(e fieldowners.Entry) bool { return e.Subresource == updated.Subresource })
		var both, only []fieldowners.Path
		for _, path := range updated.Leaves() {
			switch {
			case slices.ContainsFunc(applied, func(e fieldowners.Entry) bool { return e.Owns(path) }):
				both = append(both, path)
			case sameWay && !path.HasPrefix(fieldowners.FinalizersPath) && !path.Equal(fieldowners.LastAppliedPath):
				only = append(only, path)
			}
		}
		all := slices.Concat(both, only)
		if len(all) == 0 {
			continue
		}
		f := newFinding(RuleUpdateAndApply, []fieldowners.Manager{updated.Manager, applied[0].Manager}, all)
		f.Message = fmt.Sprintf("%s applies the object, and also owns %s by Update, %d of them by both operations: "+
			"fields that its applies no longer list stay on the object",
			updated.Name, english.Plural(f.Fields, "field", ""), len(both))
		f.Remedy = command.Migrate(updated.Name, updated.Name)
		found = append(found, f)
	}
	return found
}

func (l linting) named(name string, operation metav1.ManagedFieldsOperationType) []fieldowners.Entry {
	var found []fieldowners.Entry
	for _, entry := range l.managers {
		if entry.Name == name && entry.Operation == operation {
			found = append(found, entry)
		}
	}
	return found
}

// selfConflicts finds fields that a manager owns through a subresource such as /scale, although the manager also
// applies the object. The API server treats the two entries as different owners, so the manager can conflict with
// itself. Causes are migrations by older versions of this plugin, and kubectl scale after kubectl apply --server-side.
// selfConflicts skips fields owned by Update that the manager's Apply entry for the object itself also contains.
func (l linting) selfConflicts() []Finding {
	var found []Finding
	for _, beside := range l.managers {
		entries := l.named(beside.Name, metav1.ManagedFieldsOperationApply)
		main := slices.IndexFunc(entries, func(e fieldowners.Entry) bool { return e.Subresource == "" })
		if main < 0 {
			continue
		}
		applied := entries[main]
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
		f.Message = fmt.Sprintf("%s applies the object, and %s owns %s: for the API server these are two owners, so %[1]s conflicts with itself "+
			"when it applies another value", applied.Name, beside.Manager, english.Plural(f.Fields, "field", ""))
		f.Remedy = command.EndSharing(applied.Manager, beside.Manager, nil)
		found = append(found, f)
	}
	return found
}

// sharedByUpdate finds fields that an applier shares with a manager that wrote by Update. This happens
// after kubectl scale to another number and back, for example. It does no harm until the applier
// applies another value and gets a conflict. Fields that other rules report are left out.
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
		f.Message = fmt.Sprintf("%s owns %s together with %s: an apply by %s that sets another value conflicts, unless it is forced; if %s no longer writes a field, move the field to the applier",
			updated.Manager, english.Plural(len(shared), "field", ""), appliers[0], appliers[0].Name, updated.Name)
		f.Remedy = command.EndSharing(appliers[0], updated.Manager, shared)
		found = append(found, f)
	}
	return found
}

// isNamed reports whether the last element of the path is a field or map key, not a list item.
func isNamed(path fieldowners.Path) bool {
	steps := path.Elements()
	return steps[len(steps)-1].Field != nil
}
