package fieldowners

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// Predict tells what a Server-Side Apply of an intent (an apply configuration) by a
// field manager would meet on the live object: what would conflict, and what a
// forced apply would do. live may be nil: then it creates. Both are unstructured,
// in one apiVersion, and live has its managed fields; ErrNoManagedFields if not.
// subresource is that of the request, "" or "status".
//
// The rules are those of KEP-555, carried out by the API server's own
// structured-merge-diff; what they need of types is learned from the managed fields
// themselves and from what all kinds have in common. Where those leave open what
// would happen, that is a Doubt: everything else in the Prediction is meant for
// certain, with these limits:
//
//   - Whether the server accepts the intent at all (validation, admission, a uid or
//     resourceVersion in it) is not told, nor the defaults that it fills in.
//   - Of a map or list without content, or a null, the change is told as the intent
//     has it; the server stores it or leaves it out.
//   - Texts are compared as they are, as the server does: a quantity of "1000m"
//     against a live "1" is a conflict.
//   - What managed fields say is believed. A list that has an owner, and of whose
//     items none has, is taken for one field: it may look so as well when somebody
//     deleted managed fields by hand. Manager names are not authenticated.
//
// An error is told for what cannot be compared, or what the server refuses by form.
func Predict(live, intent map[string]any, manager, subresource string) (Prediction, error) {
	q, err := newQuestion(live, intent, manager, subresource)
	if err != nil {
		return Prediction{}, err
	}
	p, err := q.try(true)
	if err != nil {
		return Prediction{}, err
	}
	other, err := q.try(false)
	if err != nil {
		return Prediction{}, err
	}
	p.without(slices.Concat(q.doubtReadings(p.Prediction, other.Prediction), q.doubtLists(), q.doubtVersions(p),
		q.doubtSubresource(), q.doubtPruning(p.after), q.doubtKubectl(p.Prediction)))
	if q.isSecret() {
		p.conceal()
	}
	return p.Prediction, nil
}

// doubtReadings finds where it matters how open maps are read.
func (q *question) doubtReadings(a, b Prediction) []Doubt {
	var doubts []Doubt
	find := func(some, others []statement) {
		for _, f := range some {
			if !slices.ContainsFunc(others, f.equal) {
				doubts = append(doubts, q.doubtReading(f.path))
			}
		}
	}
	find(a.statements(), b.statements())
	find(b.statements(), a.statements())
	return doubts
}

// doubtReading names the outermost open map that a field lies in.
func (q *question) doubtReading(path Path) Doubt {
	at := q.root
	for i, element := range path.elements {
		at = at.below(element)
		if at.open() {
			path = Path{elements: path.elements[:i+1].Copy()}
			break
		}
	}
	return Doubt{path, "managed fields do not tell whether this map is one field or each of its keys is" + q.whose(path)}
}

// whose names the managers of a field, for a reason.
func (q *question) whose(path Path) string {
	var names []string
	for _, m := range q.others(q.owners, path) {
		names = append(names, m.String())
	}
	if len(names) == 0 {
		return ""
	}
	return "; as a whole it is owned by " + strings.Join(names, ", ")
}

// doubtLists finds the lists of which it is not known, and matters, whether they
// are merged, and those with items that cannot be named.
func (q *question) doubtLists() []Doubt {
	var doubts []Doubt
	add := func(at fieldpath.Path, format string, args ...any) {
		path := Path{elements: at.Copy()}
		doubts = append(doubts, Doubt{path, fmt.Sprintf(format, args...) + q.whose(path)})
	}
	unnamed := func(p *fieldType, at fieldpath.Path, _ []any) {
		switch {
		case p.naming.disputed:
			add(at, "managed fields disagree about how its items are named")
		case p.unnameable:
			add(at, "items leave out or repeat what names them (%s), and managed fields do not tell the server's defaults", strings.Join(p.naming.fields, ", "))
		}
	}
	q.root.lists(q.live, nil, unnamed)
	q.root.lists(q.intent, nil, unnamed)
	q.root.lists(q.intent, nil, func(p *fieldType, at fieldpath.Path, items []any) {
		if p.named || p.whole {
			return
		}
		live, _ := Path{elements: at}.Value(objectOrNil(q.live))
		there, isList := live.([]any)
		owned := q.ownedAt(at)
		switch {
		case equalValues(live, any(items)):
		case !owned && (live == nil || isList && len(there) == 0):
		default:
			add(at, "nobody owns items of this list, so managed fields do not tell whether it is merged or replaced")
		}
	})
	return doubts
}

// doubtVersions: what is recorded in another apiVersion may have other names there.
// Metadata are the same in all of them.
func (q *question) doubtVersions(p outcome) []Doubt {
	var doubts []Doubt
	for _, entry := range q.owners.entries {
		if entry.APIVersion == q.version {
			continue
		}
		for _, path := range p.touched() {
			if top := (Path{elements: path.elements[:1]}); top.String() != ".metadata" {
				doubts = append(doubts, Doubt{top, fmt.Sprintf("fields of %s are recorded in %s, where they may have other names", entry.Manager, entry.APIVersion)})
			}
		}
	}
	return doubts
}

// doubtPruning: what goes with a parent that nobody lists any more depends on whether
// the parent is a field or a key of a map.
func (q *question) doubtPruning(after Ownership) []Doubt {
	var doubts []Doubt
	before := q.oursIn(q.owners)
	before.fields.Iterate(func(at fieldpath.Path) {
		path := Path{elements: at.Copy()}
		if at[len(at)-1].FieldName == nil || q.oursIn(after).Owns(path) || len(q.others(after, path)) > 0 {
			return
		}
		for _, entry := range q.owners.entries {
			if !q.isUs(entry.Manager) && slices.ContainsFunc(entry.Fields(), func(p Path) bool { return p.HasPrefix(path) }) {
				doubts = append(doubts, Doubt{path, "it is dropped, and managed fields do not tell whether the fields below it that belong to " + entry.Manager.String() + " go with it"})
			}
		}
	})
	return doubts
}

// doubtSubresource: a kind with a status subresource has each part of the object
// written through its own way.
func (q *question) doubtSubresource() []Doubt {
	var doubts []Doubt
	for _, name := range slices.Sorted(maps.Keys(q.intent)) {
		path := Path{elements: fieldpath.Path{{FieldName: &name}}}
		switch {
		case q.us.Subresource == "" && name == "status":
			doubts = append(doubts, Doubt{path, "kinds with a status subresource ignore it in an apply to the object itself"})
		case q.us.Subresource != "" && name != "status":
			doubts = append(doubts, Doubt{path, "most kinds ignore it in an apply to the status"})
		}
	}
	return doubts
}

// doubtKubectl: the server lets kubectl take what its client-side apply had set.
func (q *question) doubtKubectl(p Prediction) []Doubt {
	if _, has := lastApplied.Value(objectOrNil(q.live)); !has || q.us.Name != "kubectl" {
		return nil
	}
	doubts := []Doubt{{lastApplied, "the API server keeps it up to date for the manager kubectl"}}
	for _, c := range p.Conflicts {
		doubts = append(doubts, Doubt{c.Path, "owned by " + c.Owner.String() + "; the manager kubectl takes without force what its client-side apply had set"})
	}
	return doubts
}
