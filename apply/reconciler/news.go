package reconciler

import (
	"hash/fnv"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply/internal/recent"
)

// news remembers the last trouble of each parent, so that trouble is logged and reported once
// while it stays the same. A new process reports it again.
type news struct {
	byTrouble *recent.Cache[trouble, uint64] // a hash of what was told
}

// trouble is a kind of it that a parent may have.
type trouble struct {
	parent types.UID
	part   string // what was applied: "" is what was emitted
	what   string
}

const statusPart = "status"

const rememberedTroubles = 8192

func newNews() news { return news{recent.New[trouble, uint64](rememberedTroubles)} }

// isNew reports whether errors differ from those of the last time. None are no news.
func (n news) isNew(of trouble, errs []error) bool {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	if len(errs) == 0 {
		n.byTrouble.Remove(of)
		return false
	}
	text := fnv.New64a()
	for _, err := range errs {
		text.Write([]byte(messageOf(err) + "\n"))
	}
	before, known := n.byTrouble.Get(of)
	n.byTrouble.Put(of, text.Sum64())
	return !known || before != text.Sum64()
}
