// Package contract describes what each field manager may own. For each kind, a contract lists the
// paths that a manager applies, the paths that it updates, and the paths that other managers may
// own as well, with the reason.
//
// The package is pure data: no client, no clock, no logging.
//
// # Contract
//
//  1. A Contract is a list of claims, one for each field manager and kind. A path, in the notation
//     of fieldowners.ParsePath, means the field and everything below it. If a path leads to a part
//     of a list item, the claim includes the key fields of the item.
//  2. Check rejects invalid names of field managers, malformed kinds and paths, and duplicate
//     claims. It also rejects a field that two managers of the same kind claim, unless Shared of
//     one of them gives the reason.
//  3. Write writes a contract as sorted YAML, which can be committed and compared. Read reads
//     contracts that Write or a person has written. Read is strict: an error names the line, the
//     manager, the kind and the path. Read returns only contracts that Check accepts.
//  4. A Comparer compares a contract with the managed fields of an object. If a manager owns a
//     field that it may not own, the result is a Finding. If a manager does not own a field that it
//     may own, there is no finding.
//  5. Labels, annotations, owner references and finalizers belong to everybody. Other managers may
//     add to them even if a manager claims them as a whole.
//  6. An object is compared if a manager of the contract owns any of its fields, or if a Selector
//     matches the object. Other objects are skipped, because a contract is about kinds, and most
//     objects of a kind in a cluster do not belong to a manager of the contract. If a manager owns
//     nothing of an object that its Selector matches, the manager has lost all its fields. A
//     manager without a Selector has lost all its fields if another manager of the contract owns a
//     field of the object.
//
// A program should call Check before it starts to write. It should compare its contract with the
// fields that it emits (applytest.Owns), and sometimes with a cluster (kubectl fieldowners audit
// --contract FILE).
//
// Valid:
//
//	contract.Contract{
//		{Manager: "shop-web", Kind: deployment, Applies: []string{".spec.template"}},
//		{Manager: "shop-power", Kind: deployment, Applies: []string{".spec.replicas"}},
//		{Manager: "shop-web", Kind: shop, Updates: []string{".status"}},
//	}
//
// Invalid: both managers claim .spec.replicas of a Deployment, and no Shared gives the reason.
//
//	contract.Contract{
//		{Manager: "shop-web", Kind: deployment, Applies: []string{".spec"}},
//		{Manager: "shop-power", Kind: deployment, Applies: []string{".spec.replicas"}},
//	}
package contract

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/fieldowners"
)

// Contract describes what field managers may own, with one claim for each manager and kind.
type Contract []Claim

// Claim describes what one field manager may own of the objects of one kind. Each path is in the
// notation of fieldowners.ParsePath, and includes all fields below it.
type Claim struct {
	Manager string
	Kind    schema.GroupKind
	// Applies lists the paths that the manager may own by Apply.
	Applies []string
	// Updates lists the paths that the manager may own by Update, usually a status and a finalizer.
	Updates []string
	// Shared maps some of these paths, which include all fields below them, to the reason why
	// another manager may own the fields as well.
	Shared map[string]string
	// Selector is a label selector for the objects of the manager. On a matching object the manager
	// should own its fields, and the loss of all of them is reported. On other objects this is not
	// reported. If Selector is empty, the manager should own its fields on each object of which
	// another manager of the contract owns a field.
	Selector string
}

// Of returns the claims of one field manager.
func (c Contract) Of(manager string) Contract {
	return slices.DeleteFunc(slices.Clone(c), func(claim Claim) bool { return claim.Manager != manager })
}

// Managers returns the names of the field managers, sorted and without duplicates.
func (c Contract) Managers() []string {
	names := make([]string, 0, len(c))
	for _, claim := range c {
		names = append(names, claim.Manager)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// paths returns the claimed paths for one operation.
func (c Claim) paths(operation metav1.ManagedFieldsOperationType) []string {
	if operation == metav1.ManagedFieldsOperationApply {
		return c.Applies
	}
	return c.Updates
}

// operations are the operations by which a manager can own a field.
var operations = []metav1.ManagedFieldsOperationType{metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate}

// Covers reports whether a claim of one path covers another path: the same path, a path below, or a key
// field of the list item of which the claim is a part.
func Covers(claimed, path fieldowners.Path) bool {
	return path.HasPrefix(claimed) || claimed.HasPrefix(path.Parent()) && path.IsKeyField()
}

// isEverybodys reports whether a path is the labels, annotations, ownerReferences or finalizers of
// an object or of a template in an object.
func isEverybodys(path fieldowners.Path) bool {
	steps := path.Elements()
	n := len(steps)
	return n >= 2 && steps[n-2].Text == ".metadata" &&
		slices.Contains([]string{".labels", ".annotations", ".ownerReferences", ".finalizers"}, steps[n-1].Text)
}
