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

// Contract says what field managers may own, as in package contract. An applier takes back
// what it gives the applier's own manager by Apply.
//
// Where a whole map of values is named, such as .data, keys that others had put there
// before the wipe are the manager's as well, and go with its next apply.
type Contract = contract.Contract

// appliedBy gives what a contract lets a manager apply, by kind. A contract that does not
// name the manager is another one's.
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

// hasContract reports whether the intent may take back what is its manager's: the object
// is the manager's own, and the contract says what of it.
func (c *call) hasContract(intent Intent) bool {
	return intent.Belongs != nil && intent.Subresource == "" && len(c.contract[c.ref.GroupKind()]) > 0
}

// lost lists the fields that are the manager's by its contract, and owned by the owner
// whom the server made up.
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
			continue // whoever needs to read it tells
		}
		for _, made := range ownership.Entries() {
			lost = append(lost, slices.DeleteFunc(fields(made), func(path fieldowners.Path) bool { return !c.isMine(path) })...)
		}
	}
	return lost
}

// isMadeUp reports whether an entry is of the owner whom the server made up. Where the
// first apply after the wipe was one of /scale, its fields are those of /scale.
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
