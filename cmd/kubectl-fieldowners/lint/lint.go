// Package lint finds existing and future problems with the managed fields of an object.
//
// # Contract
//
//  1. Check examines one object by its managed fields and by Facts. Rules that need a missing fact are skipped.
//  2. Each Rule describes a problem that was seen on a real API server. A Finding says which managers have the problem
//     and what will happen, and has a command that resolves the problem.
//  3. For an object without managed fields, Check returns no findings, as its owners are unknown.
//  4. Check does not read the object's values, so a Finding contains no values.
//  5. Findings are ordered by rule, then by manager. For malformed entries Check returns the error of
//     fieldowners.Parse.
//
// Valid:
//
//	findings, err := lint.Check(deployment.GetManagedFields(), lint.Facts{})
//	for _, f := range findings {
//		fmt.Println(f, "\n ", f.Remedy)
//	}
//
// Invalid: calling Check for an object from a cache whose transform is fieldowners.KeepOwn, since
// that transform drops the entries of all other managers.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// Rule is the name of one kind of problem that Check looks for.
type Rule string

// The rules, in the order in which Check returns their findings. Tests in test/integration provoke the problem of
// each rule on a real API server. An "applier" is a manager that owns fields by Apply.
const (
	// RuleBeforeFirstApply: the manager before-first-apply shares fields with an applier.
	RuleBeforeFirstApply Rule = "before-first-apply"
	// RuleClientSideApply: the managed-fields entry of an earlier kubectl apply without --server-side shares fields
	// with an applier.
	RuleClientSideApply Rule = "client-side-apply"
	// RuleUpdateAndApply: a manager owns fields by Apply, and also fields by Update.
	RuleUpdateAndApply Rule = "update-and-apply"
	// RuleSelfConflict: a manager applies the object, and also owns fields through a subresource.
	RuleSelfConflict Rule = "self-conflict"
	// RuleSharedByUpdate: a manager that wrote by Update shares fields with an applier.
	RuleSharedByUpdate Rule = "shared-by-update"
	// RuleWideUpdate: a manager that writes a finalizer or the status also owns fields outside of
	// metadata and status, probably because it updates the whole object.
	RuleWideUpdate Rule = "wide-update"
	// RuleAncientChanges: the API server merged the entries of several managers into the entry ancient-changes.
	RuleAncientChanges Rule = "ancient-changes"
	// RuleUnservedVersion: an entry has an apiVersion that the API server does not serve.
	RuleUnservedVersion Rule = "unserved-version"
	// RuleDuplicateEntry: a manager has several entries with the same operation, subresource and apiVersion. The next
	// write other than an apply keeps only the last of them.
	RuleDuplicateEntry Rule = "duplicate-entry"
	// RuleManyManagers: the object has so many managers that an apply to the object takes much longer.
	RuleManyManagers Rule = "many-managers"
	// RuleLargeManagedFields: managed fields are more than half of the object's bytes.
	RuleLargeManagedFields Rule = "large-managed-fields"
)

// Finding is one problem with an object's managed fields.
type Finding struct {
	Rule     Rule
	Managers []fieldowners.Manager // the managers that have the problem; the remedy is for the first manager
	Paths    []fieldowners.Path    // examples of the fields that have the problem
	Fields   int                   // the number of all fields that have the problem; 0 if the problem is not about fields
	Message  string                // describes the problem and its consequences; a sentence without a full stop
	Remedy   string                // a command line; TYPE/NAME stands for the object, MANAGER and FILE for unknown names
}

// String returns the rule, the message and the example fields on one line.
func (f Finding) String() string {
	text := fmt.Sprintf("%s: %s", f.Rule, f.Message)
	if len(f.Paths) > 0 {
		var paths []string
		for _, path := range f.Paths {
			paths = append(paths, cmp.Or(path.String(), "the object itself"))
		}
		text += ": " + strings.Join(paths, ", ")
		if more := f.Fields - len(f.Paths); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
	}
	return text
}

// Facts contains information about the object that its managed fields do not show. Check skips a rule if the
// information for the rule is missing.
type Facts struct {
	// Served reports whether the API server serves an apiVersion. known is false if this could not be determined.
	Served      func(apiVersion string) (served, known bool)
	ObjectBytes int // the length of the object in JSON with its managed fields; 0 if not known
}

// Check returns the problems with an object's managed fields, sorted by rule and then by manager. It returns no
// findings for an object without entries, and the error of fieldowners.Parse for malformed entries.
func Check(entries []metav1.ManagedFieldsEntry, facts Facts) ([]Finding, error) {
	ownership, err := fieldowners.Parse(entries)
	if err != nil {
		return nil, err
	}
	l := linting{entries: entries, ownership: ownership, managers: ownership.Entries(), facts: facts}
	l.mainApplier = sync.OnceValue(l.findMainApplier)
	var findings []Finding
	for _, rule := range []func() []Finding{
		func() []Finding { return l.leftOf(fieldowners.BeforeFirstApply, RuleBeforeFirstApply) },
		func() []Finding { return l.leftOf(fieldowners.ClientSideApply, RuleClientSideApply) },
		l.updateAndApply, l.selfConflicts, l.sharedByUpdate,
		l.wideUpdate, l.ancientChanges,
		l.unserved, l.duplicates, l.manyManagers, l.large,
	} {
		found := rule()
		slices.SortStableFunc(found, func(a, b Finding) int { return a.Managers[0].Compare(b.Managers[0]) })
		findings = append(findings, found...)
	}
	return findings, nil
}

type linting struct {
	entries     []metav1.ManagedFieldsEntry
	ownership   fieldowners.Ownership
	managers    []fieldowners.Entry // the entries of ownership
	facts       Facts
	mainApplier func() string // the result of findMainApplier, which is called at most once
}

// newFinding returns a finding about the fields at paths. The finding has the first three paths as examples.
func newFinding(rule Rule, managers []fieldowners.Manager, paths []fieldowners.Path) Finding {
	const examples = 3
	return Finding{Rule: rule, Managers: managers, Paths: paths[:min(examples, len(paths))], Fields: len(paths)}
}
