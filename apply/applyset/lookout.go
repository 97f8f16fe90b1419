package applyset

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// lookout decides when kept objects are listed again. Anybody can put the label of a set on an
// object, and a look takes a list for each recorded kind and namespace: so there is a look now
// and then instead of one in each round.
type lookout struct {
	kept     []Kept
	partials partials // the kept objects of partial intents that are not released
	wait     time.Duration
	until    time.Time // when to look again
}

const (
	leastLookout = 5 * time.Second
	mostLookout  = 10 * time.Minute
)

// next returns the lookout after a look. As long as the same objects are kept, the waits grow.
func (l lookout) next(kept []Kept) lookout {
	after := lookout{kept: slices.Clone(kept), wait: leastLookout}
	if slices.EqualFunc(kept, l.kept, Kept.same) {
		after.wait = min(2*l.wait, mostLookout)
	}
	after.until = time.Now().Add(wait.Jitter(after.wait, 0.2))
	return after
}

// due reports whether it is time for a look at kept objects.
func (l lookout) due() bool { return len(l.kept) > 0 && !time.Now().Before(l.until) }

// remembered returns what is kept, without a look.
func (l lookout) remembered() []Kept {
	kept := slices.Clone(l.kept)
	for i := range kept {
		kept[i].Remembered = true
	}
	return kept
}

// mark sets Kept.Remembered of what was kept before.
func (l lookout) mark(kept []Kept) {
	for i, k := range kept {
		kept[i].Remembered = slices.ContainsFunc(l.kept, k.same)
	}
}

func (k Kept) same(other Kept) bool {
	return k.Object.UID == other.Object.UID && k.Reason == other.Reason && k.Object.Key() == other.Object.Key()
}
