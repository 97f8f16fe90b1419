package reconciler

import (
	"hash/fnv"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/internal/recent"
)

// news remembers the last trouble of each parent, so that trouble is logged and reported once
// while it stays the same. A new process reports it again.
type news struct {
	byTrouble *recent.Cache[trouble, reported]
}

// reported describes the errors that were last reported for a trouble.
type reported struct {
	hash  uint64
	since time.Time // the time of the first error since the last success
}

// trouble names one kind of trouble of one parent.
type trouble struct {
	parent types.UID
	part   string // of what is applied: "" for what is emitted, or statusPart
	what   string
}

const statusPart = "status"

const rememberedTroubles = 8192

func newNews() news { return news{recent.New[trouble, reported](rememberedTroubles)} }

// isNew reports whether there are errors and they differ from those of the last time.
func (n news) isNew(of trouble, errs ...error) bool {
	isNew, _ := n.about(of, errs...)
	return isNew
}

// about returns the result of isNew, and for how long there have been errors without a success.
// The errors of that time may differ, as the text of a refusal may be different each time.
func (n news) about(of trouble, errs ...error) (isNew bool, since time.Duration) {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	if len(errs) == 0 {
		n.byTrouble.Remove(of)
		return false, 0
	}
	text := fnv.New64a()
	for _, err := range errs {
		text.Write([]byte(messageOf(err) + "\n"))
	}
	before, known := n.byTrouble.Get(of)
	now := reported{text.Sum64(), before.since}
	if !known {
		now.since = time.Now()
	}
	n.byTrouble.Put(of, now)
	return !known || before.hash != now.hash, time.Since(now.since)
}
