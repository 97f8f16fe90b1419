package fieldowners

import "slices"

// Writers lists the managers that wrote between two states of an object: their entry has a new
// time or new fields. A manager that deleted a field and wrote nothing else is not among
// them, as managed fields do not record it, nor is one whose second write in a second
// changed no owner.
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
