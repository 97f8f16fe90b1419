package reconciler

import (
	"hash/fnv"
	"slices"

	"k8s.io/utils/lru"
)

// news remembers what trouble was told of each parent last, so that trouble that stays
// is logged and told once, and again when it changes. A process that starts anew tells
// it anew.
type news struct{ byParent *lru.Cache }

const rememberedParents = 4096

func newNews() news { return news{lru.New(rememberedParents)} }

// isNew reports whether errors differ from those of the last time. None are no news.
func (n news) isNew(parent any, errs []error) bool {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	if len(errs) == 0 {
		n.byParent.Remove(parent)
		return false
	}
	text := fnv.New64a()
	for _, err := range errs {
		text.Write([]byte(messageOf(err) + "\n"))
	}
	before, known := n.byParent.Get(parent)
	n.byParent.Add(parent, text.Sum64())
	return !known || before != text.Sum64()
}
