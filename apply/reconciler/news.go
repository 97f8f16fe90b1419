package reconciler

import (
	"hash/fnv"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/internal/recent"
)

// news remembers the last trouble of each parent, so that trouble is logged and reported once
// while it stays the same. A new process reports it again.
type news struct {
	byTrouble *recent.Cache[trouble, uint64] // a hash of what was reported
}

// trouble names one kind of trouble of one parent.
type trouble struct {
	parent types.UID
	part   string // of what is applied: "" for what is emitted, or statusPart
	what   string
}

const statusPart = "status"

const rememberedTroubles = 8192

func newNews() news { return news{recent.New[trouble, uint64](rememberedTroubles)} }

// isNew reports whether there are errors and they differ from those of the last time.
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
	before, _ := n.byTrouble.Get(of)
	n.byTrouble.Put(of, text.Sum64())
	return before != text.Sum64()
}
