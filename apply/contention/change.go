package contention

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// Change is a write as managed fields show it.
type Change struct {
	// Fields are the fields that changed owners.
	Fields fieldowners.Difference
	// Writers are the managers that wrote: usually one; more if several writes are seen as
	// one; empty for a manager's second write in a second that changed no owner.
	Writers []fieldowners.Manager
	// Stamped reports whether a writer's entry has a later time than any entry had before.
	// A write of managed fields alone, as by kubectl fieldowners migrate, keeps times.
	Stamped bool
	// Version is the resourceVersion that the write made; "" if it is not known.
	Version string
	// Generation reports whether the write changed the object's generation.
	Generation bool
	// Again is a manager that wrote for the second time in a second and changed no owner, if a
	// new generation shows that; otherwise zero.
	Again fieldowners.Manager
}

// IsEmpty reports whether the change shows no writer and no change of owners.
func (c Change) IsEmpty() bool {
	return c.Fields.IsEmpty() && len(c.Writers) == 0 && c.Again == (fieldowners.Manager{})
}

// Seen compares an object before and after a write.
func Seen(before, after metav1.Object) (Change, error) {
	change, err := Between(before.GetManagedFields(), after.GetManagedFields())
	if err != nil {
		return Change{}, err
	}
	change.Version = after.GetResourceVersion()
	change.Generation = before.GetGeneration() != after.GetGeneration()
	if change.Generation && change.IsEmpty() {
		change.Again = lastWriter(after.GetManagedFields())
	}
	return change, nil
}

// lastWriter returns the manager whose entry has the latest time, or the zero value if there
// are several. Entries of the status are left out, as writing a status does not change the
// generation.
func lastWriter(all entries) (last fieldowners.Manager) {
	newest := newestOf(all)
	for _, entry := range all {
		switch m := managerOf(entry); {
		case m.Subresource == "status":
		case newest == nil || !newest.Equal(entry.Time):
		case last != fieldowners.Manager{}:
			return fieldowners.Manager{}
		default:
			last = m
		}
	}
	return last
}

// newestOf returns the latest time of all entries; nil if it is not known.
func newestOf(all entries) *metav1.Time {
	var newest *metav1.Time
	for i := range all {
		if newest == nil || newest.Before(all[i].Time) {
			newest = all[i].Time
		}
	}
	return newest
}

type entries = []metav1.ManagedFieldsEntry

// Between compares managed fields. For writes that change no owner, which are most, it does not
// parse any field.
func Between(before, after entries) (Change, error) {
	var change Change
	var was, is entries // of the managers whose fields changed
	newest := newestOf(before)
	for _, entry := range after {
		if last := latest(after, entry); !latest(before, entry).Equal(last) {
			change.wrote(managerOf(entry))
			change.Stamped = change.Stamped || newest.Before(last)
		}
		if !sameFields(before, after, entry) {
			was, is = append(was, of(before, entry)...), append(is, of(after, entry)...)
		}
	}
	for _, entry := range before {
		if indexOf(after, entry) < 0 {
			was = append(was, entry)
		}
	}
	if len(was)+len(is) == 0 {
		return change, nil
	}
	old, err := fieldowners.Parse(was)
	if err != nil {
		return Change{}, err
	}
	now, err := fieldowners.Parse(is)
	if err != nil {
		return Change{}, err
	}
	change.Fields = fieldowners.Diff(old, now)
	for _, m := range change.Fields.Moved {
		change.wrote(m.To)
	}
	for _, o := range change.Fields.Gained {
		change.wrote(o.Manager)
	}
	return change, nil
}

// wrote adds a writer once.
func (c *Change) wrote(m fieldowners.Manager) {
	if m = plain(m); !slices.Contains(c.Writers, m) {
		c.Writers = append(c.Writers, m)
	}
}

// plain returns the manager without apiVersion and time.
func plain(m fieldowners.Manager) fieldowners.Manager {
	return fieldowners.Manager{Name: m.Name, Operation: m.Operation, Subresource: m.Subresource}
}

func managerOf(entry metav1.ManagedFieldsEntry) fieldowners.Manager {
	return fieldowners.Manager{Name: entry.Manager, Operation: entry.Operation, Subresource: entry.Subresource}
}

// indexOf returns the index of the manager's first entry, or -1. A manager may have several
// entries: in another apiVersion, and after writes to /scale.
func indexOf(all entries, like metav1.ManagedFieldsEntry) int {
	return slices.IndexFunc(all, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == like.Manager && entry.Operation == like.Operation && entry.Subresource == like.Subresource
	})
}

// of returns all entries of a manager, which only together say what it owns.
func of(all entries, like metav1.ManagedFieldsEntry) entries {
	var found entries
	for i := indexOf(all, like); i >= 0; i = indexOf(all, like) {
		found = append(found, all[i])
		all = all[i+1:]
	}
	return found
}

// sameFields reports whether a manager's entries have the same fields.
func sameFields(before, after entries, like metav1.ManagedFieldsEntry) bool {
	for {
		i, j := indexOf(before, like), indexOf(after, like)
		if i < 0 || j < 0 {
			return i == j
		}
		if !equal(before[i].FieldsV1, after[j].FieldsV1) {
			return false
		}
		before, after = before[i+1:], after[j+1:]
	}
}

func equal(a, b *metav1.FieldsV1) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

// latest returns when a manager wrote last; nil if it is not known. An entry that only loses
// fields keeps its time.
func latest(all entries, like metav1.ManagedFieldsEntry) *metav1.Time {
	var last *metav1.Time
	for i := indexOf(all, like); i >= 0; i = indexOf(all, like) {
		if last == nil || last.Before(all[i].Time) {
			last = all[i].Time
		}
		all = all[i+1:]
	}
	return last
}
