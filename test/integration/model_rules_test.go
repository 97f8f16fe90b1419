package integration

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"coapply.dev/apply"
)

// identity names an owner: a field manager, how it wrote and through what.
type identity struct{ Name, Operation, Subresource string }

func (i identity) String() string {
	if i.Subresource != "" {
		return i.Name + "/" + i.Operation + "[" + i.Subresource + "]"
	}
	return i.Name + "/" + i.Operation
}

func applierOf(name, subresource string) identity { return identity{name, "Apply", subresource} }
func updaterOf(name, subresource string) identity { return identity{name, "Update", subresource} }

// fields is a set of paths.
type fields map[string]bool

// model is one object under Server-Side Apply as the Kubernetes documentation and
// KEP-555 tell it: its values, and who owns which of them. It shares no code with
// the API server's structured-merge-diff and none with apply.
type model struct {
	kind  modelKind
	live  tree
	owned map[identity]fields
}

func newModel(kind modelKind) *model {
	return &model{kind: kind, live: flatten(kind.shape, nil), owned: map[identity]fields{}}
}

// clone gives a model to go on with apart from this one.
func (m *model) clone() *model {
	return &model{kind: m.kind, live: maps.Clone(m.live), owned: maps.Clone(m.owned)}
}

// clash is a field that another manager owns and that an apply would change.
type clash struct {
	Path         string
	Owner        identity
	Ours, Theirs any
	Decision     apply.Decision
}

func compareClashes(a, b clash) int {
	return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Owner.String(), b.Owner.String()))
}

// reaches tells which fields a write through a subresource can change.
func reaches(subresource, path string) bool {
	return within(path, ".status") == (subresource == "status")
}

// applied is the set of fields that applying a configuration owns: its leaves, its
// list items, its keys of maps and its empty maps, but not what merely holds them.
func applied(config tree) fields {
	owns := fields{}
	for at, n := range config {
		if at == "" {
			continue
		}
		isMap := n.shape.kind == objectShape || n.shape.kind == mapShape
		if n.shape.kind == leafShape || config[n.parent].shape.kind != objectShape || isMap && len(config.children(at)) == 0 {
			owns[at] = true
		}
	}
	return owns
}

// difference gives the nodes that an object gained or that have another value, and
// those that it lost.
func difference(before, after tree) (changed, lost fields) {
	changed, lost = fields{}, fields{}
	for at, n := range after {
		old, was := before[at]
		if !was || n.shape.kind == leafShape && !reflect.DeepEqual(old.value, n.value) {
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
func (m *model) result(by identity, config tree) tree {
	after := maps.Clone(m.live)
	maps.Copy(after, config)
	kept := after.withHolders(applied(config))
	for owner, owns := range m.owned {
		if owner != by {
			maps.Copy(kept, after.withHolders(owns))
		}
	}
	for at := range after.withHolders(m.owned[by]) {
		if !kept[at] {
			after.cut(at)
		}
	}
	return after
}

// spoils tells whether an apply takes the last field out of something that stays,
// because an Update manager owns it itself. The server leaves null there, which
// custom resources refuse as invalid (422).
func (m *model) spoils(by identity, config tree) bool {
	after := m.result(by, config)
	for at, n := range after {
		hollow := n.shape.kind != leafShape && !n.shape.vanishes && at != "" && len(after.children(at)) == 0
		if hollow && len(m.live.children(at)) > 0 {
			return true
		}
	}
	return false
}

// withHolders adds the named fields that hold the fields given: they go with the
// last of these. List items and keys of maps are owned themselves or not at all.
func (t tree) withHolders(owned fields) fields {
	all := maps.Clone(owned)
	if all == nil {
		all = fields{}
	}
	for path := range owned {
		n, known := t[path]
		for ; known && n.parent != ""; n, known = t[n.parent] {
			if holder := t[n.parent]; t[holder.parent].shape != nil && t[holder.parent].shape.kind == objectShape {
				all[n.parent] = true
			}
		}
	}
	return all
}

// clashes lists what an unforced apply would be refused for.
func (m *model) clashes(by identity, config tree) []clash {
	changed, _ := difference(m.live, m.result(by, config))
	var found []clash
	for owner, owns := range m.owned {
		for path := range owns {
			if owner != by && changed[path] {
				found = append(found, clash{Path: path, Owner: owner, Ours: config.build(path), Theirs: m.live.build(path)})
			}
		}
	}
	slices.SortFunc(found, compareClashes)
	return found
}

// apply is an apply that is forced or has no clash. What changes is taken from
// every other owner, what goes is nobody's.
func (m *model) apply(by identity, config tree) {
	config = config.only(func(path string) bool { return reaches(by.Subresource, path) })
	after := m.result(by, config)
	m.take(by, after)
	m.own(by, applied(config))
	after.tidy()
	after.fill()
	m.live = after
}

// update is a plain write of the whole object: it owns what it changed and adds it
// to what it owned.
func (m *model) update(by identity, body tree) {
	after := body.only(func(path string) bool { return reaches(by.Subresource, path) })
	maps.Copy(after, m.live.only(func(path string) bool { return !reaches(by.Subresource, path) }))
	after.tidy()
	after.fill()
	changed, lost := difference(m.live, after)
	m.take(by, after)
	owns := fields{}
	for path := range m.owned[by] {
		owns[path] = !lost[path]
	}
	maps.Copy(owns, changed)
	maps.DeleteFunc(owns, func(_ string, is bool) bool { return !is })
	m.own(by, owns)
	m.live = after
}

// take lets every other manager lose what a write changes or removes.
func (m *model) take(by identity, after tree) {
	changed, lost := difference(m.live, after)
	for owner, owns := range m.owned {
		if owner != by {
			m.own(owner, owns.without(changed, lost))
		}
	}
}

func (m *model) own(by identity, owns fields) {
	if len(owns) == 0 {
		delete(m.owned, by)
		return
	}
	m.owned[by] = owns
}

func (f fields) without(others ...fields) fields {
	left := maps.Clone(f)
	for _, other := range others {
		maps.DeleteFunc(left, func(path string, _ bool) bool { return other[path] })
	}
	return left
}

// tidy drops the empty containers that the server does not store.
func (t tree) tidy() {
	for at, n := range maps.Clone(t) {
		if n.shape.vanishes && len(t.children(at)) == 0 {
			delete(t, at)
		}
	}
}

// owners is who owns what, as something to compare.
func (m *model) owners() map[string][]string {
	owned := map[string][]string{}
	for owner, owns := range m.owned {
		owned[owner.String()] = slices.Sorted(maps.Keys(owns))
	}
	return owned
}
