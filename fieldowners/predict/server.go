package predict

import (
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"

	"coapply.dev/fieldowners"
)

// doubtPruning returns doubts about parents that nobody lists any more: what is removed with
// one depends on whether it is a field or a key of a map.
func (q *question) doubtPruning(after fieldowners.Ownership) []Doubt {
	var doubts []Doubt
	ours := q.oursIn(after)
	q.oursIn(q.owners).Set().Iterate(func(at fieldpath.Path) {
		path := fieldowners.PathOf(at)
		if at[len(at)-1].FieldName == nil || ours.Owns(path) || len(q.others(after, path)) > 0 {
			return
		}
		for _, entry := range q.entries {
			if !q.isUs(entry.Manager) && ownsBelow(entry, at) {
				doubts = append(doubts, Doubt{Path: path, Reason: fmt.Sprintf(
					"it is dropped, and managed fields do not tell whether what %s owns below it goes with it", entry.Manager)})
			}
		}
	})
	return doubts
}

func ownsBelow(e fieldowners.Entry, at fieldpath.Path) bool {
	set := e.Set()
	for _, element := range at {
		below, has := set.Children.Get(element)
		if !has {
			return false
		}
		set = below
	}
	return true
}

// doubtSubresource returns a doubt about parts of the object that a request to this
// subresource, or to the object itself, may not write if the kind has a status subresource.
func (q *question) doubtSubresource() []Doubt {
	var doubts []Doubt
	for _, name := range slices.Sorted(maps.Keys(q.intent)) {
		path := fieldowners.PathOf(fieldpath.Path{{FieldName: &name}})
		switch {
		case q.us.Subresource == "" && name == "status":
			doubts = append(doubts, Doubt{Path: path, Reason: "kinds with a status subresource ignore it in an apply to the object itself"})
		case q.us.Subresource != "" && name != "status":
			doubts = append(doubts, Doubt{Path: path, Reason: "most kinds ignore it in an apply to the status"})
		}
	}
	return doubts
}

// doubtKubectl returns doubts about conflicts with kubectl's client-side apply: the server lets
// kubectl take its fields.
func (q *question) doubtKubectl(p Prediction) []Doubt {
	if _, has := fieldowners.LastAppliedPath.Value(objectOrNil(q.live)); !has || q.us.Name != "kubectl" {
		return nil
	}
	doubts := []Doubt{{Path: fieldowners.LastAppliedPath, Reason: "the API server keeps it up to date for the manager kubectl"}}
	for _, c := range p.Conflicts {
		doubts = append(doubts, Doubt{Path: c.Path, Reason: "owned by " + c.Owner.String() +
			"; the manager kubectl takes without force what its client-side apply had set"})
	}
	return doubts
}

// doubtStringData returns doubts about the stringData of a Secret, which is stored in data.
func (q *question) doubtStringData() []Doubt {
	if _, given := q.intent["stringData"]; !given || !q.isSecret() {
		return nil
	}
	const reason = "the API server moves what stringData says into data"
	return []Doubt{{Path: fieldowners.MustParsePath(".data"), Reason: reason}, {Path: fieldowners.MustParsePath(".stringData"), Reason: reason}}
}
