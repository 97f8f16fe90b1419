package predict

import (
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"

	"coapply.dev/fieldowners"
)

// doubtEmptyLists returns doubts about what depends on the type of a list that is empty after
// the apply. A list that is replaced as a whole is a field and keeps its parents. A list whose
// items are merged has no field of its own: if we drop what we owned beside it, the server
// removes the parent with everything below it that nobody owns. some and others are the
// predictions for lists of the first type, with open maps read in both ways.
func (q *question) doubtEmptyLists(some, others Prediction) ([]Doubt, error) {
	merging := q.mergingEmptyLists()
	if merging == nil {
		return nil, nil
	}
	var doubts []Doubt
	for i, replaced := range []Prediction{some, others} {
		p, err := merging.try(i == 0)
		if err != nil {
			return nil, err
		}
		for _, path := range differing(replaced, p.Prediction) {
			intended, _ := path.Value(q.intent)
			if list, _ := intended.([]any); len(list) > 0 {
				continue // it stays in either way, and differs in the names of its items alone
			}
			doubts = append(doubts, Doubt{Path: path, Reason: "it stays or goes with its parent: managed fields do not tell " +
				"whether an empty list there is merged or replaced"})
		}
	}
	return doubts, nil
}

// mergingEmptyLists returns the question in which lists that may be empty after the apply, and
// whose items nobody owns, are merged; nil if there are none.
func (q *question) mergingEmptyLists() *question {
	merged := map[*fieldType]bool{}
	q.root.lists(q.live, nil, func(p *fieldType, at fieldpath.Path, items []any) {
		intended, _ := fieldowners.PathOf(at).Value(q.intent)
		if list, _ := intended.([]any); len(items)+len(list) == 0 && !p.named && !p.whole {
			merged[p] = true
		}
	})
	q.root.lists(q.intent, nil, func(p *fieldType, _ fieldpath.Path, items []any) {
		if len(items) == 0 && !p.named && !p.whole {
			merged[p] = true
		}
	})
	if len(merged) == 0 {
		return nil
	}
	with := *q
	with.live, with.intent = runtime.DeepCopyJSON(q.live), runtime.DeepCopyJSON(q.intent)
	with.root = q.root.merging(merged)
	// items of lists of these types elsewhere need names: their number will do, since
	// whether there are any is all that counts
	number := func(p *fieldType, _ fieldpath.Path, items []any) {
		for i := range items {
			if p.merged {
				items[i] = strconv.Itoa(i)
			}
		}
	}
	with.root.lists(with.live, nil, number)
	with.root.lists(with.intent, nil, number)
	return &with
}

// merging returns a copy of the type in which these lists are merged.
func (p *fieldType) merging(lists map[*fieldType]bool) *fieldType {
	with := *p
	with.fields = maps.Clone(p.fields)
	for name, field := range with.fields {
		with.fields[name] = field.merging(lists)
	}
	if p.item != nil {
		with.item = p.item.merging(lists)
	}
	if lists[p] {
		with.merged, with.item = true, &fieldType{scalar: true}
	}
	return &with
}
