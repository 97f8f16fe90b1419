package owneraudit

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
)

// managerTally is a row that is being counted.
type managerTally struct {
	row      ManagerRow
	kinds    map[Kind]int // by the kind without its count
	versions map[string]bool
	object   int // the last object for which it was counted, by Report.Objects
}

// countEntries counts objects and bytes of the managers.
func (a *Audit) countEntries(o Object) {
	kind := Kind{APIVersion: o.APIVersion, Kind: o.Kind}
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
			tally.object = a.report.Objects
			tally.row.Objects++
			if _, known := tally.kinds[kind]; known || len(tally.kinds) < maxKinds {
				tally.kinds[kind]++
			}
		}
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

// countFields counts the fields of one object that a manager names without anything below them, by
// manager.
func (a *Audit) countFields(o Object) {
	type field struct{ owners, leaves []Manager } // all, and those that name nothing below the field
	fields := map[string]*field{}
	add := func(to *[]Manager, m Manager) {
		if !slices.Contains(*to, m) { // else by its entry in another apiVersion
			*to = append(*to, m)
		}
	}
	ownership, _ := fieldowners.ParseReadable(o.ManagedFields)
	for _, entry := range ownership.Entries() {
		manager := view.Owner(entry.Manager)
		if a.managers[manager] == nil { // too many managers
			continue
		}
		for _, path := range entry.Fields() {
			if fields[path.String()] == nil {
				fields[path.String()] = &field{}
			}
			add(&fields[path.String()].owners, manager)
		}
		for _, path := range entry.Leaves() {
			add(&fields[path.String()].leaves, manager)
		}
	}
	for _, field := range fields {
		for _, manager := range field.leaves {
			row := &a.managers[manager].row
			row.Fields++
			if len(field.owners) > 1 {
				row.Shared++
			}
		}
	}
}
