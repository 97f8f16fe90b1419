package predict

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"

	"coapply.dev/fieldowners"
)

// doubtReadings returns doubts where the two readings of open maps differ.
func (q *question) doubtReadings(a, b Prediction) []Doubt {
	var doubts []Doubt
	seen := newCover()
	for _, differs := range differing(a, b) {
		if path := q.outermostOpen(differs); !seen.covers(path) {
			doubts = append(doubts, q.doubtReading(path))
			seen.add(path)
		}
	}
	return doubts
}

// outermostOpen returns the path of the outermost open map around a field; the field itself if
// there is none.
func (q *question) outermostOpen(path fieldowners.Path) fieldowners.Path {
	at := q.root
	elements := path.FieldPath()
	for i, element := range elements {
		at = at.below(element)
		if at.open() {
			return fieldowners.PathOf(elements[:i+1])
		}
	}
	return path
}

func (q *question) doubtReading(path fieldowners.Path) Doubt {
	intended, _ := path.Value(q.intent)
	live, exists := path.Value(objectOrNil(q.live))
	return Doubt{
		Path:    path,
		Reason:  "managed fields do not tell whether this map is one field or each of its keys is" + q.whose(path),
		Sharing: exists && fieldowners.EqualValues(intended, live),
	}
}

// whose returns a text with the managers of a field, for Doubt.Reason.
func (q *question) whose(path fieldowners.Path) string {
	var names []string
	for _, m := range q.others(q.owners, path) {
		names = append(names, m.String())
	}
	if len(names) == 0 {
		return ""
	}
	return "; as a whole it is owned by " + strings.Join(names, ", ")
}

// doubtLists returns doubts about lists that may be merged or not, if it matters, and about
// lists with items that cannot be named.
func (q *question) doubtLists() []Doubt {
	var doubts []Doubt
	add := func(at fieldpath.Path, format string, args ...any) {
		path := fieldowners.PathOf(at)
		doubts = append(doubts, Doubt{Path: path, Reason: fmt.Sprintf(format, args...) + q.whose(path)})
	}
	unnamed := func(p *fieldType, at fieldpath.Path, _ []any) {
		switch {
		case p.naming.Disputed:
			add(at, "managed fields disagree about how its items are named")
		case p.unnameable && len(p.naming.Fields) == 0:
			add(at, "items are no scalars or occur twice")
		case p.unnameable:
			add(at, "items leave out or repeat what names them (%s), and managed fields do not tell the server's defaults",
				strings.Join(p.naming.Fields, ", "))
		}
	}
	q.root.lists(q.live, nil, unnamed)
	q.root.lists(q.intent, nil, unnamed)
	q.root.lists(q.intent, nil, func(p *fieldType, at fieldpath.Path, items []any) {
		if p.named || p.whole {
			return
		}
		live, _ := fieldowners.PathOf(at).Value(objectOrNil(q.live))
		there, isList := live.([]any)
		owned := q.ownedAt(at)
		switch {
		case fieldowners.EqualValues(live, any(items)):
		case !owned && (live == nil || isList && len(there) == 0):
		default:
			add(at, "nobody owns items of this list, so managed fields do not tell whether it is merged or replaced")
		}
	})
	return doubts
}

// doubtVersions returns doubts about fields in other apiVersions, as they may have other names
// there. Metadata are the same in all.
func (q *question) doubtVersions(p outcome) []Doubt {
	at := slices.IndexFunc(q.entries, func(e fieldowners.Entry) bool { return e.APIVersion != q.version })
	if at < 0 {
		return nil
	}
	entry := q.entries[at] // the first of several
	reason := fmt.Sprintf("fields of %s are recorded in %s, where they may have other names", entry.Manager, entry.APIVersion)
	var doubts []Doubt
	for _, top := range p.touched() {
		if top.String() != ".metadata" {
			doubts = append(doubts, Doubt{Path: top, Reason: reason})
		}
	}
	return doubts
}

// doubtEntries returns a doubt if an applier has several entries: which one the server uses is
// not known.
func (q *question) doubtEntries() []Doubt {
	var versions []string
	for _, entry := range q.entries {
		if q.isUs(entry.Manager) {
			versions = append(versions, entry.APIVersion)
		}
	}
	if len(versions) < 2 {
		return nil
	}
	return []Doubt{{Reason: fmt.Sprintf("%s has entries in %s: which of them the API server takes for what it applied before is not told",
		q.us, strings.Join(versions, ", "))}}
}
