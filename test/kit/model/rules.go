package model

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"coapply.dev/apply"
)

// Identity names an owner: a field manager, how it wrote and through what.
type Identity struct{ Name, Operation, Subresource string }

func (i Identity) String() string {
	if i.Subresource != "" {
		return i.Name + "/" + i.Operation + "[" + i.Subresource + "]"
	}
	return i.Name + "/" + i.Operation
}

// ApplierOf returns who applies under a name.
func ApplierOf(name, subresource string) Identity { return Identity{name, "Apply", subresource} }

// UpdaterOf returns who updates under a name.
func UpdaterOf(name, subresource string) Identity { return Identity{name, "Update", subresource} }

// Fields is a set of paths.
type Fields map[string]bool

// Model is one object under Server-Side Apply as the Kubernetes documentation and
// KEP-555 tell it: its values, and who owns which of them. It shares no code with
// the API server's structured-merge-diff and none with apply.
type Model struct {
	Kind  Kind
	Live  Tree
	Owned map[Identity]Fields
}

// NewModel returns a model of an object that does not exist.
func NewModel(kind Kind) *Model {
	return &Model{Kind: kind, Live: Flatten(kind.Shape, nil), Owned: map[Identity]Fields{}}
}

// Clone returns a model to go on with apart from this one.
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

// applied is the set of fields that applying a configuration owns: its leaves, its
// list items, its keys of maps and its empty maps, but not what merely holds them.
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

// difference returns the nodes that an object gained or that have another value, and
// those that it lost.
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

// result is what the object becomes when a manager applies a configuration: the
// configuration is laid over the live object, and what the manager owned, no longer
// lists and nobody else owns goes, with everything below it.
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

// filled returns the fields without the empty lists, and what holds nothing else: these keep
// nothing that holds them. The server takes what others own out of the object, and finds nothing
// in an empty list.
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

// Spoils reports whether an apply takes the last field out of something that stays,
// because an Update manager owns it itself. The server leaves null there, which
// custom resources refuse as invalid (422).
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

// withHolders adds the named fields that hold the fields given: they go with the
// last of these. List items and keys of maps are owned themselves or not at all.
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

// Clashes lists what an unforced apply would be refused for.
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

// Land is an apply that is forced or has no clash. What it changes is taken from every other
// owner; what it removes has no owner any more.
func (m *Model) Land(by Identity, config Tree) {
	config = config.Only(func(path string) bool { return reaches(by.Subresource, path) })
	after := m.result(by, config)
	m.take(by, after)
	m.own(by, applied(config))
	after.tidy()
	after.fill()
	m.Live = after
}

// update is a plain write of the whole object: it owns what it changed and adds it
// to what it owned.
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

// take lets every other manager lose what a write changes or removes.
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

// Owners is who owns what, as something to compare.
func (m *Model) Owners() map[string][]string {
	owned := map[string][]string{}
	for owner, owns := range m.Owned {
		owned[owner.String()] = slices.Sorted(maps.Keys(owns))
	}
	return owned
}
