package fieldowners

import "slices"

// Writers returns the managers that wrote between two states of an object: their entry has a
// new time or new fields. Managed fields do not show a manager that only deleted a field, nor
// the second write in a second if it changed no owner.
func Writers(before, after Ownership) []Manager {
	was := byWriter(before)
	var writers []Manager
	for who, entry := range byWriter(after) {
		known, ok := was[who]
		if !ok || !known.Time.Equal(entry.Time) || !entry.fields.Difference(known.fields).Empty() {
			writers = append(writers, entry.Manager)
		}
	}
	slices.SortFunc(writers, Manager.Compare)
	return writers
}
