package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
	"coapply.dev/internal/command"
)

// wideUpdate finds fields that a manager took over by accident. For example, a controller with a typed client changes
// only a finalizer or the status, but sends the whole object in an update. The client's Go type may format or default
// other fields differently from the live object. The API server then makes the controller the owner of these fields.
//
// The creator of an object also owns fields outside metadata and status, and managed fields do not distinguish a
// create from an update. Therefore, wideUpdate skips a manager that created the maps or lists to which other managers
// write (see madeFor). It also skips a manager if no other manager writes content (see isContent).
func (l linting) wideUpdate() []Finding {
	var found []Finding
	for _, entry := range l.managers {
		if entry.Subresource != "" || l.standsForOthers(entry) {
			continue
		}
		beside := besideContent(entry)
		if beside == "" {
			continue
		}
		made := madeBy(entry)
		var others []fieldowners.Manager
		for _, other := range l.managers {
			// An applier counts as a writer of content even if it owns none, because all its content
			// may have been taken over.
			isWriter := other.Operation == metav1.ManagedFieldsOperationApply || len(contentLeaves(other)) > 0
			if other.Name != entry.Name && other.Subresource == "" && isWriter && !madeFor(made, other) {
				others = append(others, other.Manager)
			}
		}
		taken := slices.DeleteFunc(contentLeaves(entry), func(path fieldowners.Path) bool {
			return len(l.ownership.OwnersOf(path)) > 1 || slices.ContainsFunc(made, path.HasPrefix)
		})
		if len(others) == 0 || len(taken) == 0 {
			continue
		}
		slices.SortStableFunc(others, func(a, b fieldowners.Manager) int { // appliers first, as their next applies conflict
			return strings.Compare(string(a.Operation), string(b.Operation))
		})
		f := newFinding(RuleWideUpdate, append([]fieldowners.Manager{entry.Manager}, others...), taken)
		f.Message = fmt.Sprintf("%s wrote %s, and also owns %s outside metadata and status: an update of the whole object takes every field that "+
			"the client's Go type formats or defaults differently, and %s; move the fields back, and have the client send only its changes",
			entry.Manager, beside, english.Plural(len(taken), "field", ""), whatConflicts(others[0]))
		f.Remedy = l.giveBack(entry, others[0], taken)
		found = append(found, f)
	}
	return found
}

func whatConflicts(other fieldowners.Manager) string {
	if other.Operation != metav1.ManagedFieldsOperationApply {
		return "an apply that sets another value gets a conflict"
	}
	return fmt.Sprintf("the next apply by %s that sets another value gets a conflict", other.Name)
}

// standsForOthers reports whether wideUpdate and sharedByUpdate leave an entry to other rules. They do so if the
// entry's manager applies the object, or is before-first-apply, ancient-changes or kubectl-client-side-apply.
func (l linting) standsForOthers(entry fieldowners.Entry) bool {
	return slices.Contains([]string{fieldowners.BeforeFirstApply, fieldowners.AncientChanges, fieldowners.ClientSideApply}, entry.Name) ||
		len(l.named(entry.Name, metav1.ManagedFieldsOperationApply)) > 0
}

// besideContent returns a phrase for the fields that a controller writes intentionally: "a finalizer", "the status",
// or "a finalizer and the status". It returns "" if the entry contains neither a finalizer nor the status.
func besideContent(entry fieldowners.Entry) string {
	var what []string
	if hasBelow(entry.Fields(), fieldowners.FinalizersPath) {
		what = append(what, "a finalizer")
	}
	if hasBelow(entry.Fields(), fieldowners.StatusPath) {
		what = append(what, "the status")
	}
	return strings.Join(what, " and ")
}

// hasBelow reports whether one of the fields is below the path. The fields must be sorted as
// Entry.Fields returns them.
func hasBelow(fields []fieldowners.Path, path fieldowners.Path) bool {
	at, found := slices.BinarySearchFunc(fields, path, fieldowners.Path.Compare)
	if found {
		at++
	}
	return at < len(fields) && fields[at].HasPrefix(path)
}

// isContent reports whether a field is content, which means outside apiVersion, kind, metadata and status.
func isContent(path fieldowners.Path) bool {
	first := path.Elements()[0].Field
	return first != nil && !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, *first)
}

func contentLeaves(entry fieldowners.Entry) []fieldowners.Path {
	return slices.DeleteFunc(entry.Leaves(), func(path fieldowners.Path) bool { return !isContent(path) })
}

// madeBy returns the paths of the maps, lists and list items that the entry's manager created outside metadata and
// status. A manager that owns both a map, list or list item and a field inside it is taken for the creator.
func madeBy(entry fieldowners.Entry) []fieldowners.Path {
	fields := entry.Fields()
	return slices.DeleteFunc(slices.Clone(fields), func(path fieldowners.Path) bool { return !isContent(path) || !hasBelow(fields, path) })
}

// madeFor guesses whether the manager of the entry other wrote after the creator of the maps and lists at the given
// paths. If so, the creator took no fields from that manager by accident. The guess depends on the entry:
//   - If other is an Apply entry with content, its manager wrote later if one of the paths is a top-level field such as
//     .spec, a list item, or a parent of a field in the entry.
//   - If other is any other entry, its manager wrote later if there is at least one path, because the control plane may
//     add an Update entry to any object.
func madeFor(made []fieldowners.Path, other fieldowners.Entry) bool {
	theirs := other.Fields()
	applies := other.Operation == metav1.ManagedFieldsOperationApply && len(contentLeaves(other)) > 0
	return slices.ContainsFunc(made, func(path fieldowners.Path) bool {
		return !applies || path.Len() == 1 || !isNamed(path) || hasBelow(theirs, path)
	})
}

// giveBack returns the command that moves fields from the entry's manager back to an applier. If the given manager
// applies the object, this manager is the new owner. Otherwise, the new owner is the applier with the most fields.
// The command moves all fields below the top-level parents of the given paths, such as .spec. It does not move
// finalizers, labels and the status.
func (l linting) giveBack(entry fieldowners.Entry, to fieldowners.Manager, taken []fieldowners.Path) string {
	name := to.Name
	if to.Operation != metav1.ManagedFieldsOperationApply {
		name = l.mainApplier()
	}
	var parts []fieldowners.Path
	for _, path := range taken {
		if part := fieldowners.MustParsePath(path.Elements()[0].Text); !slices.ContainsFunc(parts, part.Equal) {
			parts = append(parts, part)
		}
	}
	return command.Migrate(entry.Name, name, parts...)
}
