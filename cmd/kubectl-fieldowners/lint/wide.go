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

// wideUpdate finds fields that a manager took by writing the whole object to change a finalizer
// or the status. A typed client also sends all other values, as its Go type has them, and the
// server takes values that are spelled or defaulted differently from their owners.
//
// Managed fields do not distinguish one write from several, nor an update from a creation. So a
// manager is not reported if it made the maps or lists that others write to, as the creator of
// the object did, or while nobody else writes content.
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
			// All content of an applier may have been taken.
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
		slices.SortStableFunc(others, func(a, b fieldowners.Manager) int { // appliers first: they meet the conflict
			return strings.Compare(string(a.Operation), string(b.Operation))
		})
		f := newFinding(RuleWideUpdate, append([]fieldowners.Manager{entry.Manager}, others...), taken)
		f.Message = fmt.Sprintf("%s wrote %s, and owns %s of content as well: an update of the whole object takes every value that "+
			"its Go type spells or defaults differently, and %s; move them back, and have its author send only what changed",
			entry.Manager, beside, english.Plural(len(taken), "field", ""), whatConflicts(others[0]))
		f.Remedy = l.giveBack(entry, others[0], taken)
		found = append(found, f)
	}
	return found
}

func whatConflicts(other fieldowners.Manager) string {
	if other.Operation != metav1.ManagedFieldsOperationApply {
		return "an apply that sets one otherwise conflicts"
	}
	return fmt.Sprintf("the next apply of %s that sets one otherwise conflicts", other.Name)
}

// standsForOthers reports whether other rules are about an entry: its manager applies, with this entry or another one, or
// stands for others.
func (l linting) standsForOthers(entry fieldowners.Entry) bool {
	return slices.Contains([]string{fieldowners.BeforeFirstApply, fieldowners.AncientChanges, fieldowners.ClientSideApply}, entry.Name) ||
		len(l.named(entry.Name, metav1.ManagedFieldsOperationApply)) > 0
}

// besideContent returns in words what a controller had to write, a finalizer or the status; ""
// if neither.
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

// hasBelow reports whether fields, in the order of Entry.Fields, has one below the path.
func hasBelow(fields []fieldowners.Path, path fieldowners.Path) bool {
	at, found := slices.BinarySearchFunc(fields, path, fieldowners.Path.Compare)
	if found {
		at++
	}
	return at < len(fields) && fields[at].HasPrefix(path)
}

// isContent reports whether a field is neither metadata nor status.
func isContent(path fieldowners.Path) bool {
	first := path.Elements()[0].Field
	return first != nil && !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, *first)
}

// contentLeaves returns the leaves that are content.
func contentLeaves(entry fieldowners.Entry) []fieldowners.Path {
	return slices.DeleteFunc(entry.Leaves(), func(path fieldowners.Path) bool { return !isContent(path) })
}

// madeBy returns the maps, lists and items of content that the manager made: it owns their
// existence, and something in them.
func madeBy(entry fieldowners.Entry) []fieldowners.Path {
	fields := entry.Fields()
	return slices.DeleteFunc(slices.Clone(fields), func(path fieldowners.Path) bool { return !isContent(path) || !hasBelow(fields, path) })
}

// madeFor reports whether the manager that made these wrote before the other one. The creator
// of a custom resource made its .spec, and the maker of a list item wanted it. If the other one
// applies no content, or updates, as the control plane may do to any object, anything made
// counts.
func madeFor(made []fieldowners.Path, other fieldowners.Entry) bool {
	theirs := other.Fields()
	applies := other.Operation == metav1.ManagedFieldsOperationApply && len(contentLeaves(other)) > 0
	return slices.ContainsFunc(made, func(path fieldowners.Path) bool {
		return !applies || path.Len() == 1 || !isNamed(path) || hasBelow(theirs, path)
	})
}

// giveBack returns the command that moves the content to its writer; finalizers, labels and
// status stay.
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
