package ownership

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// Unmatched returns a text for each From, and each of its Paths, for which no field was found,
// with the names that may have been meant. It is not an error: of many objects some have
// nothing to move. For an undo it is empty.
func (t *Transfer) Unmatched() []string { return slices.Clone(t.unmatched) }

// findUnmatched is for managed fields that could be planned from: each entry can be read.
func (t *Transfer) findUnmatched() (none []string) {
	owned, _ := fieldowners.ParseReadable(t.shown.Before())
	for _, source := range t.fields.From {
		who := fieldowners.Manager{Name: source.Manager, Operation: t.fields.Operation}
		if !owns(owned, who, fieldowners.Path{}) {
			none = append(none, fmt.Sprintf("%v owns nothing here; %s", who, t.whoElse(owned, who)))
			continue
		}
		for _, path := range source.Paths {
			if !owns(owned, who, path) {
				none = append(none, fmt.Sprintf("%v owns nothing at or below %v%s", who, path, t.otherVerb("; ", owned, who, path)))
			}
		}
	}
	return none
}

// owns reports whether the manager wrote, through whichever subresource, a field at
// or below the path, or owns as a whole what the path is a part of.
func owns(owned fieldowners.Ownership, who fieldowners.Manager, path fieldowners.Path) bool {
	return slices.ContainsFunc(owned.Entries(), func(e fieldowners.Entry) bool {
		return e.Name == who.Name && e.Operation == who.Operation &&
			(slices.ContainsFunc(e.Fields(), func(field fieldowners.Path) bool { return field.HasPrefix(path) }) ||
				slices.ContainsFunc(e.Leaves(), path.HasPrefix))
	})
}

// whoElse returns a text that names the owners of the object, for a manager that is not among
// them.
func (t *Transfer) whoElse(owned fieldowners.Ownership, who fieldowners.Manager) string {
	if other := t.otherVerb("", owned, who, fieldowners.Path{}); other != "" {
		return other
	}
	var owners []string
	for _, entry := range owned.Entries() {
		if name := entry.Manager.String(); !slices.Contains(owners, name) {
			owners = append(owners, name)
		}
	}
	if len(owners) == 0 {
		return "nobody is recorded as an owner"
	}
	return "the owners are " + strings.Join(owners, ", ")
}

// otherVerb returns a text for a manager that owns the fields by the other operation; "" for
// others.
func (t *Transfer) otherVerb(before string, owned fieldowners.Ownership, who fieldowners.Manager, path fieldowners.Path) string {
	verb := "Migrate"
	switch who.Operation {
	case metav1.ManagedFieldsOperationApply:
		who.Operation = metav1.ManagedFieldsOperationUpdate
	default:
		who.Operation, verb = metav1.ManagedFieldsOperationApply, "Rename"
	}
	switch {
	case !owns(owned, who, path):
		return ""
	case verb == "Rename" && who.Name == t.fields.To:
		return before + "it owns by Apply already"
	}
	return fmt.Sprintf("%sit owns by %s: use %s", before, who.Operation, verb)
}
