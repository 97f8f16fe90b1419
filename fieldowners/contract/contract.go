// Package contract says what each field manager may own: per kind the paths that it applies,
// the paths that it updates, and which of them others may own as well and why.
//
// It is pure data: no client, no clock, no logging.
//
// # Contract
//
//  1. A Contract is a list of claims, one for each field manager and kind. A path, in the
//     notation of fieldowners.ParsePath, means the field and everything below it. A claim of a
//     part of a list item includes the item's key fields.
//  2. Check refuses names that no field manager can have, malformed kinds and paths, claims
//     made twice, and two managers that claim one field of one kind if neither of them says in
//     Shared why.
//  3. Write writes a contract as YAML, sorted, so that it can be committed and compared. Read
//     takes what Write writes and what a person writes. It is strict: an error names the line,
//     the manager, the kind and the path. What Read returns, Check has accepted.
//  4. A Comparer compares a contract with the managed fields of an object. A manager that owns
//     a field that it may not own is a Finding. A field that a manager may own and does not own
//     is no finding.
//  5. Labels, annotations, owner references and finalizers are everybody's. Others may add to
//     them even if a manager claims them as a whole.
//  6. An object is compared if a manager of the contract owns any of its fields, or if a Selector
//     matches it. Other objects are skipped: a contract is about kinds, and most Deployments of a
//     cluster belong to somebody else. If a manager owns nothing of an object that its Selector
//     matches, it has lost all its fields. A manager without a Selector has lost all its fields
//     if another manager of the contract owns a field of the object.
//
// What the caller does: call Check before a process starts to write, compare the contract with
// what is emitted (applytest.Owns), and with a cluster now and then (kubectl fieldowners audit
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
// Invalid: both managers claim .spec.replicas of a Deployment, and no Shared says why.
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

// Contract says what field managers may own: a claim for each manager and kind.
type Contract []Claim

// Claim is what one field manager may own of the objects of one kind. Paths are in the notation
// of fieldowners.ParsePath, and include everything below them.
type Claim struct {
	Manager string
	Kind    schema.GroupKind
	// Applies lists what the manager may own by Apply.
	Applies []string
	// Updates lists what the manager may own by Update: usually a status and a finalizer.
	Updates []string
	// Shared has, for some of these paths and all below them, the reason why another manager
	// may own them as well.
	Shared map[string]string
	// Selector is a label selector for the objects of the manager. On a matching object, the
	// manager is expected to own its fields, and losing all of them is reported. On other objects
	// the manager is not expected. If Selector is empty, the manager is expected on each object
	// of which another manager of the contract owns anything.
	Selector string
}

// Of returns the claims of one field manager.
func (c Contract) Of(manager string) Contract {
	return slices.DeleteFunc(slices.Clone(c), func(claim Claim) bool { return claim.Manager != manager })
}

// Managers returns the field managers, each once, sorted.
func (c Contract) Managers() []string {
	names := make([]string, 0, len(c))
	for _, claim := range c {
		names = append(names, claim.Manager)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// paths returns the paths of the claim for one operation.
func (c Claim) paths(operation metav1.ManagedFieldsOperationType) []string {
	if operation == metav1.ManagedFieldsOperationApply {
		return c.Applies
	}
	return c.Updates
}

// operations are the two ways to own a field.
var operations = []metav1.ManagedFieldsOperationType{metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate}

// Covers reports whether a claim of one path covers the other: it is the path or above it, or
// the other one is a key field of a list item of which the path is a part.
func Covers(claimed, path fieldowners.Path) bool {
	return path.HasPrefix(claimed) || claimed.HasPrefix(path.Parent()) && path.IsKeyField()
}

// isEverybodys reports whether a path names the whole of an object's labels, annotations,
// owner references or finalizers, or of those of a template in it.
func isEverybodys(path fieldowners.Path) bool {
	steps := path.Elements()
	n := len(steps)
	return n >= 2 && steps[n-2].Text == ".metadata" &&
		slices.Contains([]string{".labels", ".annotations", ".ownerReferences", ".finalizers"}, steps[n-1].Text)
}
