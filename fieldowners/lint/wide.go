package lint

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/command"
)

// wideUpdate finds what a write of the whole object leaves where a finalizer or the
// status was to change. A typed client sends every other value along as its Go type has
// it, and the server takes what is spelled or defaulted differently from its owner.
//
// Managed fields do not tell one write from several, nor an update from a creation. So
// nothing is told of a manager that made what others write into, as whoever created the
// object did, or while nobody else writes content.
func (l linting) wideUpdate() []Finding {
	var found []Finding
	for _, entry := range l.managers {
		if entry.Operation != metav1.ManagedFieldsOperationUpdate || entry.Subresource != "" || l.standsForOthers(entry) {
			continue
		}
		beside := besideContent(entry)
		if beside == "" {
			continue
		}
		made := madeBy(entry)
		var others []fieldowners.Manager
		for _, other := range l.managers {
			if other.Name != entry.Name && other.Subresource == "" && isWriter(other) && !madeFor(made, other) {
				others = append(others, other.Manager)
			}
		}
		taken := slices.DeleteFunc(contentLeaves(entry), func(path fieldowners.Path) bool {
			return len(l.ownership.OwnersOf(path)) > 1 || slices.ContainsFunc(made, path.HasPrefix)
		})
		if len(others) == 0 || len(taken) == 0 {
			continue
		}
		slices.SortStableFunc(others, func(a, b fieldowners.Manager) int { // who applies meets the conflict
			return strings.Compare(string(a.Operation), string(b.Operation))
		})
		f := newFinding(RuleWideUpdate, append([]fieldowners.Manager{entry.Manager}, others...), taken)
		f.Message = fmt.Sprintf("%s wrote %s, and owns %s of content as well: an update of the whole object takes every value that "+
			"its Go type spells or defaults differently, and %s; move them back, and have its author send only what changed",
			entry.Manager, beside, count(len(taken), "field"), whatConflicts(others[0]))
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

// standsForOthers reports whether an entry is the subject of other rules.
func (l linting) standsForOthers(entry fieldowners.Entry) bool {
	return slices.Contains([]string{fieldowners.BeforeFirstApply, fieldowners.AncientChanges, fieldowners.ClientSideApply}, entry.Name) ||
		len(l.named(entry.Name, metav1.ManagedFieldsOperationApply)) > 0
}

// besideContent says what a controller had to write; "" is neither finalizer nor status.
func besideContent(entry fieldowners.Entry) string {
	var what []string
	if hasBelow(entry.Set(), fieldowners.FinalizersPath.FieldPath()) {
		what = append(what, "a finalizer")
	}
	if hasBelow(entry.Set(), fieldowners.StatusPath.FieldPath()) {
		what = append(what, "the status")
	}
	return strings.Join(what, " and ")
}

// isContent reports whether a field is neither metadata nor status.
func isContent(path fieldowners.Path) bool {
	first := path.FieldPath()[0].FieldName
	return first != nil && !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, *first)
}

// contentLeaves lists the leaves that are content.
func contentLeaves(entry fieldowners.Entry) []fieldowners.Path {
	return slices.DeleteFunc(entry.Leaves(), func(path fieldowners.Path) bool { return !isContent(path) })
}

// isWriter reports whether the manager writes content, or applies: all of its content may
// have been taken.
func isWriter(entry fieldowners.Entry) bool {
	return entry.Operation == metav1.ManagedFieldsOperationApply || len(contentLeaves(entry)) > 0
}

// madeBy lists the maps, lists and items of content that the manager put there itself: it
// owns their existence, and something in them.
func madeBy(entry fieldowners.Entry) []fieldowners.Path {
	return slices.DeleteFunc(entry.Fields(), func(path fieldowners.Path) bool { return !isContent(path) || !hasBelow(entry.Set(), path.FieldPath()) })
}

// madeFor reports whether who made these was there before the other one. A custom resource
// is made with its .spec, a list item by whoever wanted it. Of one that applies no content,
// and of an update, which the control plane may make to whatever was created, anything
// made counts.
func madeFor(made []fieldowners.Path, other fieldowners.Entry) bool {
	applies := other.Operation == metav1.ManagedFieldsOperationApply && len(contentLeaves(other)) > 0
	return slices.ContainsFunc(made, func(path fieldowners.Path) bool {
		return !applies || path.Len() == 1 || !isNamed(path) || hasBelow(other.Set(), path.FieldPath())
	})
}

// giveBack moves the content to who writes it; FinalizersPath, labels and status stay.
func (l linting) giveBack(entry fieldowners.Entry, to fieldowners.Manager, taken []fieldowners.Path) string {
	name := to.Name
	if to.Operation != metav1.ManagedFieldsOperationApply {
		name = l.mainApplier()
	}
	var parts []fieldowners.Path
	for _, path := range taken {
		if part := fieldowners.PathOf(path.FieldPath()[:1]); !slices.ContainsFunc(parts, part.Equal) {
			parts = append(parts, part)
		}
	}
	return command.Migrate(entry.Name, name, parts...)
}
