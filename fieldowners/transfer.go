package fieldowners

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Transfer describes a move of fields from the entries of some managers to the Apply entries of
// another one. Values do not change, and no field that has an owner is left without one.
//
// Valid uses: Update to Apply, to migrate a client-side writer to Server-Side Apply; Apply to
// Apply, to rename a manager, to merge several into one, and to split one by paths; To to
// itself by Apply, to move what it applied through a subresource into its main entry.
//
// Fields of the object that were written through a subresource such as /scale go to To's main
// entry: a separate entry for the subresource would be another owner, with which To's next
// apply would conflict. They keep an entry of their own if To, or with Apply the former
// manager, applies them through the subresource and not with the object; so does the status.
//
// # What stays
//
//   - Fields in another apiVersion than To's entry that cannot be shown to mean the same there:
//     a manager has one Apply entry per subresource, in one apiVersion.
//   - The annotation of client-side kubectl apply, kubectl.kubernetes.io/
//     last-applied-configuration, which an Update entry owns: no intent lists it, so the next
//     apply of To would delete it, and client-side tools prune by it. A path that names the
//     annotation moves it.
//   - Finalizers that an Update entry owns, for the same reason: without its finalizer the
//     object would be deleted without cleanup. A path that names .metadata.finalizers, or one
//     of them, moves them.
//   - In a split, the list items around the fields that move, with their key fields: From keeps
//     them and To owns them too, as its next apply names them as well.
type Transfer struct {
	From       []Source
	Operation  metav1.ManagedFieldsOperationType // how the managers of From own the fields
	To         string                            // whose Apply entries get them
	APIVersion string                            // of To's entries, if To has none yet

	undoes []Handover // set by TransferPlan.Undo: what to move, instead of all above
}

// Source is a manager whose fields are to move. Paths are these fields, with everything below
// them; if Paths is empty, all fields of the manager move.
type Source struct {
	Manager string
	Paths   []Path
}

// Handover is one field that a transfer gives to another manager. As JSON it can be
// kept for an undo in another process.
type Handover struct {
	Path Path    `json:"path"`
	From Manager `json:"from"`
	To   Manager `json:"to"`
	// FromKeeps: both own it afterwards.
	FromKeeps bool `json:"fromKeeps,omitempty"`
	// ToOwned: both owned it before.
	ToOwned bool `json:"toOwned,omitempty"`
}

// String returns the field, its former owner and its new one.
func (m Handover) String() string {
	s := fmt.Sprintf("%s: %s -> %s", m.Path, m.From, m.To)
	switch {
	case m.FromKeeps:
		s += " (shared: the former owner keeps it)"
	case m.ToOwned:
		s += " (owned by both before)"
	}
	return s
}

func (m Handover) compare(other Handover) int {
	return cmp.Or(m.From.Compare(other.From), m.To.Compare(other.To), m.Path.Compare(other.Path))
}

// Unmoved is one field that a transfer was asked to move and does not move.
type Unmoved struct {
	Path    Path
	Manager Manager // from which it was to be taken
	Reason  string
}

// String returns the field, the manager and why it does not move.
func (u Unmoved) String() string { return fmt.Sprintf("%s of %s: %s", u.Path, u.Manager, u.Reason) }

func (u Unmoved) compare(other Unmoved) int {
	return cmp.Or(u.Manager.Compare(other.Manager), u.Path.Compare(other.Path))
}

// TransferPlan is what a transfer does to the managed fields of an object.
type TransferPlan struct {
	Moved   []Handover
	Unmoved []Unmoved
	// Unread are apiVersions in which the object has to be read to complete the plan; until
	// then their fields are in Unmoved.
	Unread []string
}

// Objects holds one object as read in several apiVersions, all at one
// resourceVersion. nil stands for an apiVersion that is not served.
type Objects map[string]any

// Plan returns what would move, in a stable order. Malformed managed fields are an
// error, as with Parse.
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
	slices.SortStableFunc(plan.Moved, Handover.compare)
	slices.SortStableFunc(plan.Unmoved, Unmoved.compare)
	return plan, nil
}

// Undo returns the transfer that restores the former owners: fields that To did not own before
// go back, and fields that both owned are owned by both again. Fields that To gives up in
// between stay as they then are.
func (p TransferPlan) Undo() Transfer {
	undoes := make([]Handover, 0, len(p.Moved))
	for _, m := range p.Moved {
		undoes = append(undoes, Handover{
			Path: m.Path, From: m.To, To: m.From, FromKeeps: m.ToOwned, ToOwned: m.FromKeeps,
		})
	}
	return Transfer{undoes: undoes}
}
