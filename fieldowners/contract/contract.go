// Package contract describes which fields each field manager may own. For each manager and kind, a contract lists
// the paths that the manager may own by Apply and the paths that it may own by Update. It also lists which of these
// paths other managers may own as well, with the reason.
//
// The package is pure data: no client, no clock, no logging.
//
// # Contract
//
//  1. A Contract is a list of claims, one for each field manager and kind. A path, in the notation of
//     fieldowners.ParsePath, means the field and everything below it. If a path leads to a part of a list item, the
//     claim includes the key fields of the item.
//  2. Check rejects invalid names of field managers, malformed kinds and paths, and duplicate claims. It also rejects
//     a field that two managers claim for the same kind, unless Shared of one of the two claims gives the reason.
//  3. Write writes a contract as sorted YAML. Read reads YAML that Write or a person has written, and returns only
//     contracts that Check accepts. An error of Read names the line, the manager, the kind and the path.
//  4. A Comparer compares a contract with the managed fields of an object. If a manager owns a field that it may not
//     own, the result is a Finding. If a manager does not own a field that it may own, there is no finding.
//  5. A manager that claims all labels, annotations, owner references or finalizers does not exclude other managers
//     from these fields.
//  6. An object is compared if a manager of the contract owns any of its fields, or if a Selector matches the object.
//     Other objects are skipped, because most objects of a kind do not belong to a manager of the contract.
//     Finding.Missing is true if the manager that must own the fields (see Claim.Selector) owns no field of the object.
//
// A program should call Check before its first write. Its tests should compare the contract with the program's apply
// configurations (applytest.Owns). A person should sometimes compare the contract with a cluster (kubectl
// fieldowners audit --contract FILE).
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

// Contract describes which fields the field managers may own. It has one Claim per manager and kind.
type Contract []Claim

// Claim describes which fields one field manager may own in the objects of one kind. Each path is in the
// notation of fieldowners.ParsePath, and includes all fields below the path.
type Claim struct {
	Manager string           `json:"-"`
	Kind    schema.GroupKind `json:"-"`
	// Applies lists the paths that the manager may own by Apply.
	Applies []string `json:"applies,omitempty"`
	// Updates lists the paths that the manager may own by Update, usually a status and a finalizer.
	Updates []string `json:"updates,omitempty"`
	// Shared lists the claimed paths that other managers may own as well. The key is the path, and the value is the
	// reason.
	Shared map[string]string `json:"shared,omitempty"`
	// Selector is a label selector: the manager must own a field in each matching object. If Selector is empty, the
	// manager must own a field in each object in which another manager of the contract owns a field. In every object in
	// which the manager must own a field, Compare reports each manager outside of the contract that owns a path of this
	// claim, unless the path is in Shared.
	Selector string `json:"selector,omitempty"`
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

func (c Claim) paths(operation metav1.ManagedFieldsOperationType) []string {
	if operation == metav1.ManagedFieldsOperationApply {
		return c.Applies
	}
	return c.Updates
}

// operations are all operations by which a manager can own a field.
var operations = []metav1.ManagedFieldsOperationType{metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate}

// Covers reports whether a manager with the given claimed path may also own the field at the given path. This is the
// case if the field is at or below the claimed path, or is a key field of the list item that contains the claimed
// path.
func Covers(claimed, path fieldowners.Path) bool {
	return path.HasPrefix(claimed) || claimed.HasPrefix(path.Parent()) && path.IsKeyField()
}

// isEverybodys reports whether a path is the labels, annotations, ownerReferences or finalizers of an object or of a
// template in an object. Every manager may own parts of these fields.
func isEverybodys(path fieldowners.Path) bool {
	steps := path.Elements()
	n := len(steps)
	return n >= 2 && steps[n-2].Text == ".metadata" &&
		slices.Contains([]string{".labels", ".annotations", ".ownerReferences", ".finalizers"}, steps[n-1].Text)
}
