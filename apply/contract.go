package apply

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/contract"
)

// Contract says what field managers may own, as in package contract. An Applier takes back the
// fields that the contract lets its own manager apply.
//
// If the contract names a whole map of values, such as .data, keys that others had put there
// before the wipe become the manager's as well, and its next apply removes them.
type Contract = contract.Contract

// appliedBy returns the paths that a contract lets a manager apply, by kind. A contract that
// does not name the manager is an error.
func appliedBy(manager string, c Contract) (map[schema.GroupKind][]fieldowners.Path, error) {
	if len(c) == 0 {
		return nil, nil
	}
	own := c.Of(manager)
	if len(own) == 0 {
		return nil, fmt.Errorf("Contract does not name the field manager %q, only %s", manager, strings.Join(c.Managers(), ", "))
	}
	if err := contract.Check(own); err != nil {
		return nil, fmt.Errorf("Contract: %w", err)
	}
	applied := map[schema.GroupKind][]fieldowners.Path{}
	for _, claim := range own {
		for _, text := range claim.Applies {
			applied[claim.Kind] = append(applied[claim.Kind], fieldowners.MustParsePath(text)) // Check has parsed it
		}
	}
	return applied, nil
}

// hasContract reports whether fields may be taken back for the intent: it has Belongs, and the
// contract names fields of its kind.
func (c *call) hasContract(intent Intent) bool {
	return intent.Belongs != nil && intent.Subresource == "" && len(c.contract[c.ref.GroupKind()]) > 0
}

// lost returns the fields that are the manager's by its contract and that the made-up owner
// owns.
func (c *call) lost(object client.Object) []fieldowners.Path {
	return c.lostOf(object, fieldowners.Entry.Fields)
}

func (c *call) lostOf(object client.Object, fields func(fieldowners.Entry) []fieldowners.Path) []fieldowners.Path {
	var lost []fieldowners.Path
	for _, entry := range object.GetManagedFields() {
		if !isMadeUp(entry) || entry.APIVersion != c.ref.GroupVersion().String() {
			continue
		}
		ownership, err := fieldowners.Parse([]metav1.ManagedFieldsEntry{entry})
		if err != nil {
			continue // who needs the entry reports the error
		}
		for _, made := range ownership.Entries() {
			lost = append(lost, slices.DeleteFunc(fields(made), func(path fieldowners.Path) bool { return !c.isMine(path) })...)
		}
	}
	return lost
}

// isMadeUp reports whether an entry is that of the owner whom the server makes up after managed
// fields were wiped. If the first apply after the wipe went to /scale, the entry is one of
// /scale.
func isMadeUp(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == fieldowners.BeforeFirstApply && entry.Operation == metav1.ManagedFieldsOperationUpdate &&
		entry.Subresource != statusSubresource
}

// mayHaveLost reports whether the server made up an owner in an object, whatever it owns.
func mayHaveLost(object client.Object) bool {
	return slices.ContainsFunc(object.GetManagedFields(), isMadeUp)
}

func (c *call) isMine(path fieldowners.Path) bool {
	_, wanted := path.Value(c.intent.object)
	return slices.ContainsFunc(c.contract[c.ref.GroupKind()], func(claim fieldowners.Path) bool {
		return path.HasPrefix(claim) && (wanted && path.Len() > claim.Len() || !contract.IsEverybodys(claim))
	})
}
