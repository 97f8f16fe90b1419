package owneraudit

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
)

// managerTally holds the counts of one manager while objects are being added.
type managerTally struct {
	row      ManagerRow
	kinds    map[Kind]int    // the number of objects of each kind; Kind.Objects is not set
	versions map[string]bool // the apiVersions of the entries
	object   int             // the number of the last object counted, so that an object with several entries counts once
}

// countEntries adds the managed-fields entries of an object to the counts of their managers.
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
		if tally.object != a.report.Objects { // false for a second entry of the manager on this object
			tally.object = a.report.Objects
			tally.row.Objects++
			if _, known := tally.kinds[kind]; known || len(tally.kinds) < maxKinds {
				tally.kinds[kind]++
			}
		}
	}
}

// manager returns the tally of a manager, and creates it if necessary. It returns nil if there are too many managers.
func (a *Audit) manager(m Manager) *managerTally {
	tally := a.managers[m]
	if tally == nil && len(a.managers) < MaxManagers {
		tally = &managerTally{row: ManagerRow{Manager: m}, kinds: map[Kind]int{}, versions: map[string]bool{}}
		a.managers[m] = tally
	}
	return tally
}

func sizeOf(entry *metav1.ManagedFieldsEntry) int {
	text, _ := json.Marshal(entry)
	return len(text)
}

// rows returns the rows of all managers, in descending order of their numbers of objects and then of fields.
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

// countFields adds the fields of one object to the counts of their managers. It counts only the leaf
// fields of each manager.
func (a *Audit) countFields(ownership fieldowners.Ownership) {
	owners, leaves := map[string][]fieldowners.Manager{}, map[string][]fieldowners.Manager{}
	for _, entry := range ownership.Entries() {
		if a.managers[view.Owner(entry.Manager)] == nil { // the manager is beyond the limit of the report
			continue
		}
		for _, path := range entry.Fields() {
			owners[path.String()] = append(owners[path.String()], entry.Manager)
		}
		for _, path := range entry.Leaves() {
			leaves[path.String()] = append(leaves[path.String()], entry.Manager)
		}
	}
	for path, managers := range leaves {
		shared := len(view.OwnersOf(owners[path])) > 1
		for _, manager := range view.OwnersOf(managers) {
			row := &a.managers[manager].row
			row.Fields++
			if shared {
				row.Shared++
			}
		}
	}
}
