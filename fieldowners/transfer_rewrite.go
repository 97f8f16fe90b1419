package fieldowners

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// Rewrite returns the managed fields of the object after the planned moves. Other entries stay unchanged, in their
// order. An entry that loses its last field is left out. A new entry is inserted before the entry from which it gains
// fields. If writes through /scale have left several entries of one manager, Rewrite merges these entries, because the
// API server would keep only the last one.
//
// Rewrite returns an error if the given entries are malformed or are not those for which the plan was made.
func (p TransferPlan) Rewrite(entries []metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, error) {
	owners, err := parseSlots(entries)
	if err != nil {
		return nil, err
	}
	for _, m := range p.Moved {
		if err := owners.move(m); err != nil {
			return nil, err
		}
	}
	rewritten := make([]metav1.ManagedFieldsEntry, 0, len(owners))
	for _, owner := range owners {
		if rewritten, err = owner.appendTo(rewritten); err != nil {
			return nil, fmt.Errorf("encoding the managed fields entry of %s: %w", owner.Manager, err)
		}
	}
	return rewritten, nil
}

// Done returns nil if the managed fields in entries show that all fields of the plan have moved. Otherwise the error
// names the first field that has not moved.
func (p TransferPlan) Done(entries []metav1.ManagedFieldsEntry) error {
	owners, err := parseSlots(entries)
	if err != nil {
		return err
	}
	for _, m := range p.Moved {
		if !owners.of(m.To).owns(m.Path) {
			return fmt.Errorf("%s does not own %s", m.To, m.Path)
		}
		if !m.FromKeeps && owners.of(m.From).owns(m.Path) {
			return fmt.Errorf("%s still owns %s", m.From, m.Path)
		}
	}
	return nil
}

// Stored returns nil if each manager in sent has all its fields also in stored, the managed fields that the API server
// stored. Otherwise the error names the first missing field and its manager. Malformed managed fields are also an error.
func Stored(sent, stored []metav1.ManagedFieldsEntry) error {
	wanted, err := parseSlots(sent)
	if err != nil {
		return err
	}
	owners, err := parseSlots(stored)
	if err != nil {
		return err
	}
	for _, owner := range wanted {
		has := owners.of(owner.Manager)
		for _, path := range owner.Fields() {
			if !has.owns(path) {
				return fmt.Errorf("%s does not own %s", owner.Manager, path)
			}
		}
	}
	return nil
}

// slot is one managed fields entry during a rewrite.
type slot struct {
	Entry

	raw        metav1.ManagedFieldsEntry
	gain, lose fieldpath.Set // the fields that the rewrite adds to and removes from the entry
	merged     bool          // whether the entry was merged from several entries of one manager
}

// owns reports whether the entry names exactly this field. It returns false if s is nil.
func (s *slot) owns(path Path) bool { return s != nil && s.Owns(path) }

// slots are the managed fields entries of an object during a rewrite, with one slot for each manager.
type slots []*slot

func parseSlots(entries []metav1.ManagedFieldsEntry) (slots, error) {
	var all slots
	for i, raw := range entries {
		entry, err := parseEntry(raw)
		if err != nil {
			return nil, &EntryError{Index: i, Manager: raw.Manager, Err: err}
		}
		known := all.of(entry.Manager)
		switch {
		case known == nil:
			all = append(all, &slot{Entry: entry, raw: raw})
		case known.APIVersion != entry.APIVersion:
			return nil, fmt.Errorf("managedFields[%d] (manager %q): the manager has two Apply entries, in apiVersions %s and %s",
				i, raw.Manager, entry.APIVersion, known.APIVersion)
		default:
			known.fields, known.Time, known.merged = known.fields.Union(entry.fields), later(known.Time, entry.Time), true
		}
	}
	return all, nil
}

// of returns the slot of a manager, or nil if the manager has no entry. An Apply entry is found whatever its apiVersion
// is, because a manager has only one Apply entry for each subresource.
func (s slots) of(m Manager) *slot {
	for _, known := range s {
		if m.Operation == metav1.ManagedFieldsOperationApply {
			m.APIVersion = known.APIVersion
		}
		if known.sameEntry(m) {
			return known
		}
	}
	return nil
}

func (s *slots) move(m Handover) error {
	from, to := s.of(m.From), s.of(m.To)
	if !from.owns(m.Path) {
		return fmt.Errorf("%s does not own %s: the managed fields differ from those for which the plan was made; make a new plan", m.From, m.Path)
	}
	if to == nil {
		to = &slot{Entry: Entry{Manager: m.To, fields: fieldpath.NewSet()}, raw: metav1.ManagedFieldsEntry{
			Manager: m.To.Name, Operation: m.To.Operation, Subresource: m.To.Subresource, APIVersion: m.To.APIVersion,
			FieldsType: "FieldsV1",
		}}
		*s = slices.Insert(*s, slices.Index(*s, from), to)
	}
	to.gain.Insert(m.Path.elements)
	to.Time = later(to.Time, m.To.Time)
	if !m.FromKeeps {
		from.lose.Insert(m.Path.elements)
	}
	return nil
}

// appendTo appends the entry with the gained fields and without the lost fields. It appends nothing if no field is left.
func (s *slot) appendTo(entries []metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, error) {
	if !s.merged && s.gain.Empty() && s.lose.Empty() {
		return append(entries, s.raw), nil
	}
	fields := s.fields.Difference(&s.lose).Union(&s.gain)
	if fields.Empty() {
		return entries, nil
	}
	encoded, err := fields.ToJSON()
	if err != nil {
		return nil, err
	}
	raw := s.raw
	raw.FieldsV1, raw.Time = metav1.NewFieldsV1(string(encoded)), nil
	if !s.Time.IsZero() {
		raw.Time = &metav1.Time{Time: s.Time}
	}
	return append(entries, raw), nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
