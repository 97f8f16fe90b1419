package fieldowners

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Effect is what a write of one field manager does to an object: the values and the owners that change. It contains no
// values of Secrets. Taken, Gained, Shared and Dropped contain only fields of the Manager. A field may be in several
// lists.
type Effect struct {
	Manager   Manager    // the field manager that writes
	Creates   bool       // whether the write creates the object
	Changes   []Change   // the values that change, including defaults that the API server sets
	Ownership Difference // the fields that each owner gains and loses

	Taken   []Moved   // fields that the manager takes from other managers
	Gained  []Path    // fields that the manager owns in addition, without taking them from another manager
	Shared  []Owned   // taken and gained fields that other managers own too, one entry for each owner
	Dropped []Dropped // fields that the manager gives up
}

// Dropped is a field that a field manager gives up. Change contains the values of the field before and after the write.
// If no other manager owns the field, the API server removes the value (Exists is then false), or replaces the value by
// a default.
type Dropped struct {
	Change

	Stays  bool      // the value does not change
	Owners []Manager // the managers that still own the field
}

// EffectOf compares an object before and after a write of a field manager. before is nil if the write creates the
// object. held and owned are the owners before and after the write. Metadata that the API server maintains, such as the
// resourceVersion, is not compared.
func EffectOf(by Manager, before, after *unstructured.Unstructured, held, owned Ownership) Effect {
	effect := Effect{Manager: by, Creates: before == nil, Ownership: Diff(held, owned)}
	var old any
	if before == nil {
		before = &unstructured.Unstructured{}
	} else {
		old = before.Object
	}
	effect.Changes = slices.DeleteFunc(Changes(old, after.Object, held, owned), func(change Change) bool {
		return change.Path.isServerKept() || change.Path.Equal(managedFieldsPath)
	})
	effect.setOwn(owned, before, after)
	if IsSecret(after.GroupVersionKind().Group, after.GetKind()) {
		effect.hide()
	}
	return effect
}

var managedFieldsPath = MustParsePath(".metadata.managedFields")

// setOwn sets the fields of the Effect that concern only its Manager. owned are the owners after the write.
func (e *Effect) setOwn(owned Ownership, before, after *unstructured.Unstructured) {
	others := func(path Path) []Manager { return slices.DeleteFunc(owned.OwnersOf(path), e.Manager.SameWriter) }
	var got []Path
	for _, moved := range e.Ownership.Moved {
		if e.Manager.SameWriter(moved.To) {
			e.Taken = append(e.Taken, moved)
			got = append(got, moved.Path)
		}
	}
	for _, gained := range e.Ownership.Gained {
		if e.Manager.SameWriter(gained.Manager) {
			e.Gained = append(e.Gained, gained.Path)
			got = append(got, gained.Path)
		}
	}
	slices.SortFunc(got, Path.Compare)
	for _, path := range slices.CompactFunc(got, Path.Equal) {
		for _, other := range others(path) {
			e.Shared = append(e.Shared, Owned{Path: path, Manager: other})
		}
	}
	for _, lost := range e.Ownership.Lost {
		if !e.Manager.SameWriter(lost.Manager) {
			continue
		}
		dropped := Dropped{Change: Change{Path: lost.Path}, Owners: others(lost.Path)}
		dropped.Before, dropped.Existed = lost.Path.Value(before.Object)
		dropped.After, dropped.Exists = lost.Path.Value(after.Object)
		dropped.Stays = dropped.Existed == dropped.Exists && reflect.DeepEqual(dropped.Before, dropped.After)
		e.Dropped = append(e.Dropped, dropped)
	}
}

// hide hides the values of a Secret.
func (e *Effect) hide() {
	for i := range e.Changes {
		e.Changes[i].hide()
	}
	for i := range e.Dropped {
		e.Dropped[i].hide()
	}
}

func (c *Change) hide() {
	if c.Existed {
		c.Before = Hidden
	}
	if c.Exists {
		c.After = Hidden
	}
}

// String returns the fields that change, one on each line, under headings such as "taken:". Long values are cut off.
func (e Effect) String() string {
	var text strings.Builder
	section(&text, "changes", e.Changes)
	section(&text, "taken", e.Taken)
	section(&text, "shared", e.Shared)
	if !e.Creates { // for a new object, the changes already list these fields
		section(&text, "gained", e.Gained)
	}
	section(&text, "dropped", e.Dropped)
	isOwn := func(o Owned) bool { return e.Manager.SameWriter(o.Manager) } // these fields have headings of their own
	section(&text, "lost by other managers", slices.DeleteFunc(slices.Clone(e.Ownership.Lost), isOwn))
	section(&text, "gained by other managers", slices.DeleteFunc(slices.Clone(e.Ownership.Gained), isOwn))
	return text.String()
}

func section[T any](text *strings.Builder, heading string, items []T) {
	for i, item := range items {
		if i == 0 {
			fmt.Fprintf(text, "%s:\n", heading)
		}
		fmt.Fprintf(text, "  %v\n", item)
	}
}

// String returns one line: the field, what happens to its value, and its remaining owners.
func (d Dropped) String() string {
	owners := cmp.Or(FormatManagers(d.Owners), "nobody")
	switch {
	case d.Existed && !d.Exists:
		return d.Path.String() + ": removed, with its value " + FormatValue(d.Before)
	case d.Stays:
		return d.Path.String() + ": stays, owned by " + owners
	}
	return d.Change.String() + ", owned by " + owners
}

// FormatManagers returns the names of the first three different managers, followed by the number of the remaining
// managers.
func FormatManagers(managers []Manager) string {
	const most = 3
	var names []string
	for _, manager := range managers {
		if name := manager.String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
