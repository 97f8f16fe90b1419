package reconciler

import (
	"errors"
	"fmt"

	"coapply.dev/apply/internal/emission"
)

// ErrNotPure means that two calls of Emit for one parent returned different intents. Each
// reconcile would then write, and each write lead to a reconcile. Nothing was sent.
var ErrNotPure = errors.New("emit is not pure")

const (
	// pureChecks is how many reconciles of a parent call Emit twice: two runs over a map of two
	// keys have the same order more often than not.
	pureChecks = 10
	// rememberedChecks is the number of parents for which the checks are counted.
	rememberedChecks = 8192
)

// emitPurely calls Emit, and in the first reconciles of a parent calls it once more and
// compares.
func (r *Reconciler[P]) emitPurely(parent P) (Emission, error) {
	first, err := r.Emit(parent)
	checks, _ := r.checked.Get(parent.GetUID())
	if err != nil || checks >= pureChecks {
		return first, err
	}
	second, err := r.Emit(parent)
	if err != nil {
		return second, err
	}
	if difference := emission.Difference(first.Intents, second.Intents); difference != "" {
		return Emission{}, fmt.Errorf("%w: %s", ErrNotPure, difference)
	}
	r.checked.Put(parent.GetUID(), checks+1)
	return second, nil
}
