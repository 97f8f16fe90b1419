package owneraudit

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// managerTally is a row that is being counted.
type managerTally struct {
	row      ManagerRow
	kinds    map[Kind]int // by the kind without its count
	versions map[string]bool

	object int // the last one that it was counted for, by Report.Objects
	number int // of that object's holders
}

// countEntries counts objects and bytes of the managers, and scans what they own.
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
		if tally.object != a.report.Objects { // else a second entry on this object
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

// manager gives the row of a manager; nil where there are too many.
func (a *Audit) manager(m Manager) *managerTally {
	tally := a.managers[m]
	if tally == nil && len(a.managers) < MaxManagers {
		tally = &managerTally{row: ManagerRow{Manager: m}, kinds: map[Kind]int{}, versions: map[string]bool{}}
		a.managers[m] = tally
	}
	return tally
}

// sizeOf gives the length of an entry as JSON, but for what JSON escapes in names.
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

// rows gives the managers, those with most objects first, then with most fields.
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
