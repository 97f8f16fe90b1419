package fieldowners

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Transfer describes a move of fields from the managed fields entries of some managers to the Apply entries of the
// manager To. The values of the fields do not change, and no field loses its last owner.
//
// Uses:
//
//   - From Update to Apply: to migrate a client-side writer to Server-Side Apply.
//   - From Apply to Apply: to rename a manager, to merge several managers into one, or to split a manager by paths.
//   - From Apply to Apply of the same manager: to move fields that the manager applied through a subresource into its
//     entry for the object itself.
//
// Fields that a manager wrote through a subresource such as /scale move to To's entry for the object itself. The API
// server would treat a separate entry of To for the subresource as another owner, and the next apply of To to the
// object could conflict with this entry. Only the following fields move to To's entry for the subresource:
//
//   - fields of the status, and fields that the manager wrote through the subresource status;
//   - if To is not the current owner, fields that To already applies through the subresource, or that the current owner
//     applies through the subresource. The exception is a field that To or the current owner also applies to the object
//     itself.
//
// # Fields that do not move
//
//   - Fields of an entry in another apiVersion than To's entry, unless the fields are proven to mean the same in both
//     apiVersions. A manager has one Apply entry for each subresource, in one apiVersion.
//   - The annotation kubectl.kubernetes.io/last-applied-configuration and finalizers, if an Update entry owns them.
//     Apply configurations do not list these fields, so the next apply of To would remove them: client-side kubectl apply
//     could no longer remove fields, and the object could be deleted without the cleanup that the finalizers wait for. To
//     move these fields, list their paths in Source.Paths. The path .metadata.finalizers selects all finalizers.
//   - In a split, the list items that contain moved fields, and the key fields of these items. Both managers own them
//     afterwards, because the next apply of either manager sets them.
type Transfer struct {
	From       []Source
	Operation  metav1.ManagedFieldsOperationType // the operation by which the managers of From own the fields
	To         string                            // the manager whose Apply entries get the fields
	APIVersion string                            // the apiVersion of To's entries, if To has no entry yet

	undoes []Handover // the fields to move back; set by TransferPlan.Undo, which sets no other member
}

// Source is a manager whose fields should move. Paths selects the fields, with everything below
// them. If Paths is empty, all fields of the manager move.
type Source struct {
	Manager string
	Paths   []Path
}

// Handover is one field that a transfer moves from one manager to another manager. A Handover can be
// stored as JSON, to undo the transfer in another process.
type Handover struct {
	Path Path    `json:"path"`
	From Manager `json:"from"`
	To   Manager `json:"to"`
	// FromKeeps means that both managers own the field after the transfer.
	FromKeeps bool `json:"fromKeeps,omitempty"`
	// ToOwned means that both managers owned the field before the transfer.
	ToOwned bool `json:"toOwned,omitempty"`
}

// String returns the field's path, its former owner and its new owner.
func (m Handover) String() string {
	s := fmt.Sprintf("%s: %s -> %s", m.Path, m.From, m.To)
	switch {
	case m.FromKeeps:
		s += " (shared: the former owner also keeps the field)"
	case m.ToOwned:
		s += " (both managers already owned the field)"
	}
	return s
}

// Unmoved is one field that a Transfer selects, but that cannot move.
type Unmoved struct {
	Path    Path
	Manager Manager // the current owner of the field
	Reason  string  // the reason why the field cannot move
}

// String returns the field's path, its owner and the reason why the field cannot move.
func (u Unmoved) String() string { return fmt.Sprintf("%s of %s: %s", u.Path, u.Manager, u.Reason) }

// TransferPlan lists the changes that a transfer makes to the managed fields of an object.
type TransferPlan struct {
	Moved   []Handover
	Unmoved []Unmoved
	// Unread lists the apiVersions in which the caller must read the object before the next call of Plan. Until then, a
	// field that would move to another apiVersion is in Unmoved if one of the two apiVersions is listed here.
	Unread []string
}

// Objects holds one object in several apiVersions, all read at the same resourceVersion. The key is the apiVersion.
// The value nil means that the API server does not serve the apiVersion.
type Objects map[string]any

// Plan returns the changes that the transfer would make to the given managed fields of an object, in a stable order. It
// returns an error if the managed fields are malformed. The objects are needed only for fields that would move to
// another apiVersion. The first call may pass nil: TransferPlan.Unread then lists the needed apiVersions.
func (t Transfer) Plan(entries []metav1.ManagedFieldsEntry, objects Objects) (TransferPlan, error) {
	owners, err := parseSlots(entries)
	if err != nil {
		return TransferPlan{}, err
	}
	var plan TransferPlan
	wanted := slices.Clone(t.undoes)
	for _, source := range t.From {
		wanted = append(wanted, t.choose(&plan, owners, source)...)
	}
	for _, m := range wanted {
		plan.settle(m, owners, objects)
	}
	slices.Sort(plan.Unread)
	plan.Unread = slices.Compact(plan.Unread)
	slices.SortStableFunc(plan.Moved, func(a, b Handover) int {
		return cmp.Or(a.From.Compare(b.From), a.To.Compare(b.To), a.Path.Compare(b.Path))
	})
	slices.SortStableFunc(plan.Unmoved, func(a, b Unmoved) int {
		return cmp.Or(a.Manager.Compare(b.Manager), a.Path.Compare(b.Path))
	})
	return plan, nil
}

// Undo returns the transfer that reverts the plan. Each moved field goes back to its former owner. The manager To
// keeps the fields that it already owned before the transfer. Fields that the manager To has given up since the
// transfer do not move.
func (p TransferPlan) Undo() Transfer {
	var undoes []Handover
	for _, m := range p.Moved {
		undoes = append(undoes, Handover{
			Path: m.Path, From: m.To, To: m.From, FromKeeps: m.ToOwned, ToOwned: m.FromKeeps,
		})
	}
	return Transfer{undoes: undoes}
}
