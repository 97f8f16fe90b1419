package owneraudit

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// managerTally is a row that is being counted.
type managerTally struct {
	row      ManagerRow
	kinds    map[Kind]int // by the kind without its count
	versions map[string]bool

	object int // the last object for which it was counted, by Report.Objects
	number int // of that object's holders
}

// countEntries counts objects and bytes of the managers, and scans their fields.
func (a *Audit) countEntries(o Object) {
	kind := Kind{APIVersion: o.APIVersion, Kind: o.Kind}
	a.holders, a.scan.found = a.holders[:0], a.scan.found[:0]
	for i := range o.ManagedFields {
		entry := &o.ManagedFields[i]
		size := sizeOf(entry)
		a.report.Bytes += size
		tally := a.manager(Manager{Name: entry.Manager, Operation: entry.Operation, Subresource: entry.Subresource})
		if tally == nil {
			a.report.LeftOut.Managers++
			continue
		}
		tally.row.Bytes += size
		tally.row.LastWrite = later(tally.row.LastWrite, entry.Time)
		if len(tally.versions) < maxKinds {
			tally.versions[entry.APIVersion] = true
		}
		if tally.object != a.report.Objects { // otherwise a second entry on this object
			tally.object, tally.number = a.report.Objects, len(a.holders)
			a.holders = append(a.holders, tally)
			tally.row.Objects++
			if _, known := tally.kinds[kind]; known || len(tally.kinds) < maxKinds {
				tally.kinds[kind]++
			}
		}
		a.scan.add(entry.FieldsV1.GetRawBytes(), tally.number)
	}
}

// manager returns the row of a manager; nil if there are too many.
func (a *Audit) manager(m Manager) *managerTally {
	tally := a.managers[m]
	if tally == nil && len(a.managers) < MaxManagers {
		tally = &managerTally{row: ManagerRow{Manager: m}, kinds: map[Kind]int{}, versions: map[string]bool{}}
		a.managers[m] = tally
	}
	return tally
}

// sizeOf returns the length of an entry as JSON, without escapes in names.
func sizeOf(entry *metav1.ManagedFieldsEntry) int {
	const names = `{"manager":"","operation":"","apiVersion":"","fieldsType":"","fieldsV1":}`
	size := len(names) + len(entry.Manager) + len(entry.Operation) + len(entry.APIVersion) +
		len(entry.FieldsType) + len(entry.FieldsV1.GetRawBytes())
	if entry.Time != nil {
		size += len(`,"time":"2006-01-02T15:04:05Z"`)
	}
	if entry.Subresource != "" {
		size += len(`,"subresource":""`) + len(entry.Subresource)
	}
	return size
}

// rows returns the managers, those with most objects first, then with most fields.
func (a *Audit) rows() []ManagerRow {
	rows := make([]ManagerRow, 0, len(a.managers))
	for _, tally := range a.managers {
		row := tally.row
		row.APIVersions = slices.Sorted(maps.Keys(tally.versions))
		for kind, objects := range tally.kinds {
			kind.Objects = objects
			row.Kinds = append(row.Kinds, kind)
		}
		slices.SortFunc(row.Kinds, func(a, b Kind) int {
			return cmp.Or(b.Objects-a.Objects, cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.APIVersion, b.APIVersion))
		})
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b ManagerRow) int {
		return cmp.Or(b.Objects-a.Objects, b.Fields-a.Fields, a.Compare(b.Manager))
	})
	return rows
}

// holderPair is two holders of one object, by their numbers.
type holderPair struct{ first, second int }

// countFields counts the fields that were scanned of one object, by manager and by
// pair of managers.
func (a *Audit) countFields(o Object) {
	fields := a.scan.found
	slices.SortFunc(fields, func(a, b scanned) int { return cmp.Or(cmp.Compare(a.path, b.path), a.holder-b.holder) })
	clear(a.pairs)
	for len(fields) > 0 {
		n := 1
		for n < len(fields) && fields[n].path == fields[0].path {
			n++
		}
		a.countField(fields[:n])
		fields = fields[n:]
	}
	for _, pair := range slices.SortedFunc(maps.Keys(a.pairs), func(a, b holderPair) int {
		return cmp.Or(a.first-b.first, a.second-b.second)
	}) {
		a.countOverlap(o, pair, a.pairs[pair])
	}
}

// countField counts one field for all its owners. If all own only its existence and fields
// below it, it is not counted.
func (a *Audit) countField(field []scanned) {
	owners := field[:0]
	isLeaf := false
	for _, f := range field {
		isLeaf = isLeaf || f.leaf
		if last := len(owners) - 1; last >= 0 && owners[last].holder == f.holder { // its entry in another apiVersion
			owners[last].leaf = owners[last].leaf || f.leaf
			continue
		}
		owners = append(owners, f)
	}
	if !isLeaf {
		return
	}
	for _, owner := range owners {
		if owner.leaf {
			row := &a.holders[owner.holder].row
			row.Fields++
			if len(owners) > 1 {
				row.Shared++
			}
		}
	}
	if len(owners) > MaxOwners {
		a.report.LeftOut.CrowdedFields++
		owners = owners[:MaxOwners]
	}
	for i, first := range owners {
		for _, second := range owners[i+1:] {
			a.pairs[holderPair{first.holder, second.holder}]++
		}
	}
}

// countOverlap counts the fields that two managers share on one object.
func (a *Audit) countOverlap(o Object, pair holderPair, fields int) {
	key := [2]Manager{a.holders[pair.first].row.Manager, a.holders[pair.second].row.Manager}
	if key[0].Compare(key[1]) > 0 {
		key[0], key[1] = key[1], key[0]
	}
	overlap := a.overlaps[key]
	switch {
	case overlap == nil && len(a.overlaps) >= MaxOverlaps:
		a.report.LeftOut.Overlaps += fields
		return
	case overlap == nil:
		path := sharedPath(o, key)
		overlap = &Overlap{Managers: key, Example: o.Ref, Path: path.String(), ServerPath: path.ServerString()}
		a.overlaps[key] = overlap
	}
	overlap.Fields += fields
	overlap.Objects++
}

// sharedPath returns the first field, in the order of paths, that both managers own.
func sharedPath(o Object, managers [2]Manager) fieldowners.Path {
	var all [2][]fieldowners.Entry
	for _, raw := range o.ManagedFields {
		i := slices.Index(managers[:], Manager{Name: raw.Manager, Operation: raw.Operation, Subresource: raw.Subresource})
		if i < 0 {
			continue
		}
		if entry, err := fieldowners.Parse([]metav1.ManagedFieldsEntry{raw}); err == nil { // it was parsed before
			all[i] = append(all[i], entry.Entries()...)
		}
	}
	var shared []fieldowners.Path
	for _, one := range all[0] {
		for _, other := range all[1] {
			shared = append(shared, ownedBy(one, other)...)
			shared = append(shared, ownedBy(other, one)...)
		}
	}
	if len(shared) == 0 { // two paths with the same hash
		return fieldowners.Path{}
	}
	return slices.MinFunc(shared, fieldowners.Path.Compare)
}

// ownedBy returns the leaves of one entry that another one names.
func ownedBy(one, other fieldowners.Entry) []fieldowners.Path {
	return slices.DeleteFunc(one.Leaves(), func(path fieldowners.Path) bool { return !other.Owns(path) })
}

// sortedOverlaps returns the pairs, those with most fields first.
func (a *Audit) sortedOverlaps() []Overlap {
	overlaps := make([]Overlap, 0, len(a.overlaps))
	for _, overlap := range a.overlaps {
		overlaps = append(overlaps, *overlap)
	}
	slices.SortFunc(overlaps, func(a, b Overlap) int {
		return cmp.Or(b.Fields-a.Fields, b.Objects-a.Objects, a.Managers[0].Compare(b.Managers[0]), a.Managers[1].Compare(b.Managers[1]))
	})
	return overlaps
}
