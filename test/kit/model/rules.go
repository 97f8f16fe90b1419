package model

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"coapply.dev/apply"
)

// Identity is an owner: a field manager, its operation and its subresource.
type Identity struct{ Name, Operation, Subresource string }

func (i Identity) String() string {
	if i.Subresource != "" {
		return i.Name + "/" + i.Operation + "[" + i.Subresource + "]"
	}
	return i.Name + "/" + i.Operation
}

// ApplierOf returns the owner with the given name and the operation Apply.
func ApplierOf(name, subresource string) Identity { return Identity{name, "Apply", subresource} }

// UpdaterOf returns the owner with the given name and the operation Update.
func UpdaterOf(name, subresource string) Identity { return Identity{name, "Update", subresource} }

// Fields is a set of paths.
type Fields map[string]bool

// Model has the values of one object, and their owners. It follows the description of Server-Side Apply in the
// Kubernetes documentation and KEP-555. It shares no code with the API server's structured-merge-diff, and none with
// package apply.
type Model struct {
	Kind  Kind
	Live  Tree
	Owned map[Identity]Fields
}

// NewModel returns a model of an object that does not exist.
func NewModel(kind Kind) *Model {
	return &Model{Kind: kind, Live: Flatten(kind.Shape, nil), Owned: map[Identity]Fields{}}
}

// Clone returns an independent copy of the model.
func (m *Model) Clone() *Model {
	return &Model{Kind: m.Kind, Live: maps.Clone(m.Live), Owned: maps.Clone(m.Owned)}
}

// Clash is a field that another manager owns and that an apply would change.
type Clash struct {
	Path         string
	Owner        Identity
	Ours, Theirs any
	Decision     apply.Decision
}

// CompareClashes orders clashes by path, then owner.
func CompareClashes(a, b Clash) int {
	return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Owner.String(), b.Owner.String()))
}

// reaches reports whether a write through a subresource can change a field.
func reaches(subresource, path string) bool {
	return Within(path, ".status") == (subresource == "status")
}

// applied returns the fields that a manager owns by applying a configuration: leaves, list items, map keys and empty
// maps, but not the other containers.
func applied(config Tree) Fields {
	owns := Fields{}
	for at, n := range config {
		if at == "" {
			continue
		}
		isMap := n.shape.Kind == ObjectShape || n.shape.Kind == MapShape
		if n.shape.Kind == LeafShape || config[n.parent].shape.Kind != ObjectShape || isMap && len(config.children(at)) == 0 {
			owns[at] = true
		}
	}
	return owns
}

// difference returns the nodes that are new in after, or have another value, and the nodes that are only in before.
func difference(before, after Tree) (changed, lost Fields) {
	changed, lost = Fields{}, Fields{}
	for at, n := range after {
		old, was := before[at]
		if !was || n.shape.Kind == LeafShape && !reflect.DeepEqual(old.value, n.value) {
			changed[at] = true
		}
	}
	for at := range before {
		if _, is := after[at]; !is {
			lost[at] = true
		}
	}
	return changed, lost
}

// result returns the object after an apply. First the configuration is merged into the live object. Then a field is
// removed, with everything below it, if the manager owned the field, no longer lists it, and nobody else owns it.
func (m *Model) result(by Identity, config Tree) Tree {
	after := maps.Clone(m.Live)
	maps.Copy(after, config)
	kept := after.withHolders(applied(config))
	for owner, owns := range m.Owned {
		if owner != by {
			maps.Copy(kept, after.withHolders(after.filled(owns)))
		}
	}
	for at := range after.withHolders(m.Owned[by]) {
		if !kept[at] {
			after.cut(at)
		}
	}
	return after
}

// filled returns the fields without the hollow fields: empty lists, and containers of only hollow fields. An apply can
// remove a hollow field and its parents although another manager owns the field, because the API server looks for the
// values of other managers' fields, and an empty list has none.
func (t Tree) filled(owned Fields) Fields {
	all := maps.Clone(owned)
	maps.DeleteFunc(all, func(path string, _ bool) bool { return t.hollow(path) })
	return all
}

func (t Tree) hollow(path string) bool {
	n, there := t[path]
	if !there || n.shape.Kind == LeafShape {
		return false
	}
	held := t.children(path)
	if len(held) == 0 {
		return n.shape.Kind == ListShape || n.shape.Kind == SetShape
	}
	return !slices.ContainsFunc(held, func(child string) bool { return !t.hollow(child) })
}

// Spoils reports whether an apply removes the last field of a container that stays, because another manager owns the
// container itself by Update. The API server then sets the container to null, which is invalid in a custom resource
// (422).
func (m *Model) Spoils(by Identity, config Tree) bool {
	after := m.result(by, config)
	for at, n := range after {
		hollow := n.shape.Kind != LeafShape && !n.shape.Vanishes && at != "" && len(after.children(at)) == 0
		if hollow && len(m.Live.children(at)) > 0 {
			return true
		}
	}
	return false
}

// withHolders adds the containers around the given fields, except list items and map values. An added container is
// removed together with the last field in it. A list item or a map value is kept only by its own owners.
func (t Tree) withHolders(owned Fields) Fields {
	all := maps.Clone(owned)
	if all == nil {
		all = Fields{}
	}
	for path := range owned {
		n, known := t[path]
		for ; known && n.parent != ""; n, known = t[n.parent] {
			if holder := t[n.parent]; t[holder.parent].shape != nil && t[holder.parent].shape.Kind == ObjectShape {
				all[n.parent] = true
			}
		}
	}
	return all
}

// Clashes returns the conflicts for which the API server would reject an apply without force.
func (m *Model) Clashes(by Identity, config Tree) []Clash {
	changed, _ := difference(m.Live, m.result(by, config))
	var found []Clash
	for owner, owns := range m.Owned {
		for path := range owns {
			if owner != by && changed[path] {
				found = append(found, Clash{Path: path, Owner: owner, Ours: config.Build(path), Theirs: m.Live.Build(path)})
			}
		}
	}
	slices.SortFunc(found, CompareClashes)
	return found
}

// Land applies a configuration that is forced or has no clash. Other owners lose the fields that the apply changes or
// removes.
func (m *Model) Land(by Identity, config Tree) {
	config = config.Only(func(path string) bool { return reaches(by.Subresource, path) })
	after := m.result(by, config)
	m.take(by, after)
	m.own(by, applied(config))
	after.tidy()
	after.fill()
	m.Live = after
}

// update replaces the whole object by Update. The manager keeps the fields that it owned, and also owns the fields that
// it changed.
func (m *Model) update(by Identity, body Tree) {
	after := body.Only(func(path string) bool { return reaches(by.Subresource, path) })
	maps.Copy(after, m.Live.Only(func(path string) bool { return !reaches(by.Subresource, path) }))
	after.tidy()
	after.fill()
	changed, lost := difference(m.Live, after)
	m.take(by, after)
	owns := Fields{}
	for path := range m.Owned[by] {
		owns[path] = !lost[path]
	}
	maps.Copy(owns, changed)
	maps.DeleteFunc(owns, func(_ string, is bool) bool { return !is })
	m.own(by, owns)
	m.Live = after
}

// take makes the other owners lose the fields that a write changes or removes.
func (m *Model) take(by Identity, after Tree) {
	changed, lost := difference(m.Live, after)
	for owner, owns := range m.Owned {
		if owner != by {
			m.own(owner, owns.without(changed, lost))
		}
	}
}

func (m *Model) own(by Identity, owns Fields) {
	if len(owns) == 0 {
		delete(m.Owned, by)
		return
	}
	m.Owned[by] = owns
}

func (f Fields) without(others ...Fields) Fields {
	left := maps.Clone(f)
	for _, other := range others {
		maps.DeleteFunc(left, func(path string, _ bool) bool { return other[path] })
	}
	return left
}

// tidy drops the empty containers that the server does not store.
func (t Tree) tidy() {
	for at, n := range maps.Clone(t) {
		if n.shape.Vanishes && len(t.children(at)) == 0 {
			delete(t, at)
		}
	}
}

// Owners returns the paths that each owner owns, for comparisons.
func (m *Model) Owners() map[string][]string {
	owned := map[string][]string{}
	for owner, owns := range m.Owned {
		owned[owner.String()] = slices.Sorted(maps.Keys(owns))
	}
	return owned
}
