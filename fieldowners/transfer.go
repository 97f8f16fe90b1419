package fieldowners

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Transfer asks for fields to move from the entries of some managers to the Apply
// entries of another one. Values do not change, and no field that has an owner is
// left without one.
//
// Valid uses: Update to Apply, so that a client-side writer can go over to
// Server-Side Apply; Apply to Apply, to rename a manager, to merge several into
// one, and to split one by paths; To to itself by Apply, so that what it applied
// through a subresource comes into its main entry.
//
// What was written through /scale, or another subresource for fields of the object,
// goes to To's main entry: beside it, an entry for the subresource would be another
// owner, and To's next apply would conflict with itself. Where To, or with Apply the
// former manager, applies the field through the subresource and not with the object,
// it stays apart, and so does the status.
//
// # What stays
//
//   - Fields that are named in another apiVersion than To's entry and that cannot be
//     shown to mean the same there: a manager has one Apply entry per subresource,
//     in one apiVersion.
//   - The annotation of client-side kubectl apply, kubectl.kubernetes.io/
//     last-applied-configuration, which an Update entry owns: it is no part of
//     anyone's intent, so the next apply of To would delete it, and with it what
//     client-side tools prune by. Naming the annotation's path moves it all the same.
//   - Finalizers that an Update entry owns, for the same reason: a finalizer that goes
//     with the next apply lets the object go without its cleanup. Naming
//     .metadata.FinalizersPath, or one of them, moves them all the same.
//   - Of a split, the list items around the fields that move, with their key fields:
//     From keeps them and To owns them too, as its next apply names them as well.
type Transfer struct {
	From       []Source
	Operation  metav1.ManagedFieldsOperationType // how the managers of From own the fields
	To         string                            // whose Apply entries get them
	APIVersion string                            // of To's entries where To has none yet

	undoes []Handover // set by TransferPlan.Undo: these and nothing else, in place of all above
}

// Source is a manager whose fields are to move. Paths are the fields that do, with
// everything below them; none are all.
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

// String returns the field, who loses it and who has it then.
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

// Unmoved is one field that a transfer was asked to move and does not.
type Unmoved struct {
	Path    Path
	Manager Manager // whose it was to be taken from
	Reason  string
}

// String returns the field, the manager and why it does not move.
func (u Unmoved) String() string { return fmt.Sprintf("%s of %s: %s", u.Path, u.Manager, u.Reason) }

func (u Unmoved) compare(other Unmoved) int {
	return cmp.Or(u.Manager.Compare(other.Manager), u.Path.Compare(other.Path))
}

// TransferPlan is what a transfer does to certain managed fields.
type TransferPlan struct {
	Moved   []Handover
	Unmoved []Unmoved
	// Unread are apiVersions in which the object has to be read before the plan is
	// complete; until then their fields are in Unmoved.
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
	wanted := t.undoes
	if wanted == nil {
		for _, source := range t.From {
			wanted = append(wanted, t.choose(&plan, owners, source)...)
		}
	}
	for _, m := range wanted {
		plan.settle(m, owners, objects)
	}
	slices.SortStableFunc(plan.Moved, Handover.compare)
	slices.SortStableFunc(plan.Unmoved, Unmoved.compare)
	return plan, nil
}

// Undo returns the transfer that restores who owned what: fields that To did not own
// before go back, those that both owned become owned by both again. What To gives
// up in between stays as it then is.
func (p TransferPlan) Undo() Transfer {
	undoes := make([]Handover, 0, len(p.Moved))
	for _, m := range p.Moved {
		undoes = append(undoes, Handover{
			Path: m.Path, From: m.To, To: m.From, FromKeeps: m.ToOwned, ToOwned: m.FromKeeps,
		})
	}
	return Transfer{undoes: undoes}
}
