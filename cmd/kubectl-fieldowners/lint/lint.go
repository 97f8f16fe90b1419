// Package lint finds what is wrong, or will go wrong, with the managed fields of an object.
//
// # Contract
//
//  1. Check judges one object by its managed fields, and by Facts: what these do not have is
//     not judged.
//  2. Each Rule was seen on a real API server. A Finding says what will surprise whom, and has
//     a command that ends it.
//  3. Nothing is guessed: without entries there are no findings, as nothing is known.
//  4. No value of the object is read, so none is in a Finding.
//  5. Findings are in the order of rules, then managers. For malformed entries the error is
//     that of fieldowners.Parse.
//
// Valid:
//
//	findings, err := lint.Check(deployment.GetManagedFields(), lint.Facts{})
//	for _, f := range findings {
//		fmt.Println(f, "\n ", f.Remedy)
//	}
//
// Invalid: the entries of an object from a cache with fieldowners.KeepOwn, where those of
// others are missing.
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

// Rule names what Check looks for.
type Rule string

// The rules, in the order of findings. Tests in test/integration provoke each on a real API
// server.
const (
	// RuleBeforeFirstApply: before-first-apply owns fields together with an applier.
	RuleBeforeFirstApply Rule = "before-first-apply"
	// RuleClientSideApply: kubectl apply without --server-side left an entry that owns
	// fields together with an applier.
	RuleClientSideApply Rule = "client-side-apply"
	// RuleUpdateAndApply: a manager applies, and owns fields by Update as well.
	RuleUpdateAndApply Rule = "update-and-apply"
	// RuleSelfConflict: a manager applies, and owns fields through a subresource as well.
	RuleSelfConflict Rule = "self-conflict"
	// RuleSharedByUpdate: a manager that wrote by Update owns values together with an applier.
	RuleSharedByUpdate Rule = "shared-by-update"
	// RuleWideUpdate: a manager updates a finalizer or the status, and also owns content that
	// it did not have to write.
	RuleWideUpdate Rule = "wide-update"
	// RuleAncientChanges: the API server merged managers into ancient-changes.
	RuleAncientChanges Rule = "ancient-changes"
	// RuleUnservedVersion: an entry names its fields in a version that is not served.
	RuleUnservedVersion Rule = "unserved-version"
	// RuleDuplicateEntry: a manager has two entries, of which the next write drops one.
	RuleDuplicateEntry Rule = "duplicate-entry"
	// RuleManyManagers: so many managers that applies to the object take much longer.
	RuleManyManagers Rule = "many-managers"
	// RuleLargeManagedFields: more than half of the object is managed fields.
	RuleLargeManagedFields Rule = "large-managed-fields"
)

// Finding is one thing about an object's managed fields that will surprise somebody.
type Finding struct {
	Rule     Rule
	Managers []fieldowners.Manager // the managers concerned, the one to act on first
	Paths    []fieldowners.Path    // a few of the fields, in the order of paths
	Fields   int                   // how many fields there are; 0 if the finding is not about fields
	Message  string                // a sentence without a full stop
	Remedy   string                // a command, with command.Placeholder for the object and MANAGER or FILE for what is not known
}

// String returns rule, message and fields on one line.
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

// Facts are what the entries do not show. Rules whose facts are missing are skipped.
type Facts struct {
	// Served reports whether the API server serves an apiVersion, if it is known.
	Served func(apiVersion string) (served, known bool)
	// ObjectBytes is the length of the whole object as JSON, managed fields included.
	ObjectBytes int
}

// Check returns what is wrong, or will go wrong, with an object's managed fields, in the order
// of rules, then managers. The error is that of fieldowners.Parse. Without entries there are no
// findings.
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
	mainApplier func() string // computed once
}

// newFinding returns a finding with the first few of the fields as examples.
func newFinding(rule Rule, managers []fieldowners.Manager, paths []fieldowners.Path) Finding {
	const examples = 3
	return Finding{Rule: rule, Managers: managers, Paths: paths[:min(examples, len(paths))], Fields: len(paths)}
}
