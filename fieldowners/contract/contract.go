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

// IsEverybodys reports whether a path names the whole of an object's labels, annotations,
// owner references or finalizers, or of those of a template in it.
func IsEverybodys(path fieldowners.Path) bool {
	steps := path.Elements()
	n := len(steps)
	return n >= 2 && steps[n-2].Text == ".metadata" &&
		slices.Contains([]string{".labels", ".annotations", ".ownerReferences", ".finalizers"}, steps[n-1].Text)
}
