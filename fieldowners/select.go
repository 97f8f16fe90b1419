package fieldowners

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// Selection narrows an Ownership. Its empty parts select everything.
type Selection struct {
	Prefix    Path                              // fields at this path and below it
	Managers  []string                          // names, any of them
	Operation metav1.ManagedFieldsOperationType // Apply or Update
}

func (s Selection) selects(m Manager) bool {
	return (len(s.Managers) == 0 || slices.Contains(s.Managers, m.Name)) && (s.Operation == "" || s.Operation == m.Operation)
}

// Select returns the part of the ownership that is selected. Managers of whose fields
// nothing is left are not in it, unless they own nothing anyhow and the whole object
// is selected.
//
// A field that is owned as a whole, such as an atomic list, is not found by the path
// of a part of it.
func (o Ownership) Select(s Selection) Ownership {
	var selected Ownership
	for _, entry := range o.entries {
		if !s.selects(entry.Manager) {
			continue
		}
		if !s.Prefix.IsRoot() {
			if entry.fields = below(entry.fields, s.Prefix); entry.fields.Empty() {
				continue
			}
		}
		selected.entries = append(selected.entries, entry)
	}
	return selected
}

func below(fields *fieldpath.Set, prefix Path) *fieldpath.Set {
	found := fieldpath.NewSet()
	fields.Iterate(func(p fieldpath.Path) {
		if (Path{elements: p}).HasPrefix(prefix) {
			found.Insert(p.Copy())
		}
	})
	return found
}
