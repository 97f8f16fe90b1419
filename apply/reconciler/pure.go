package reconciler

import (
	"errors"
	"fmt"

	"coapply.dev/apply/internal/emission"
)

// ErrNotPure means that two calls of Emit for the same parent returned different intents. Nothing was
// sent: with such an Emit, each reconcile would write, and each write would cause another reconcile.
var ErrNotPure = errors.New("emit is not pure")

const (
	// pureChecks is the number of reconciles of a parent that call Emit twice. One check is not
	// enough: in more than half of all cases, two iterations over a map with two keys have the
	// same order.
	pureChecks = 10
	// rememberedChecks is the number of parents, at least, whose checks a process remembers.
	rememberedChecks = 8192
)

// emitPurely calls Emit. In the first reconciles of a parent, it calls Emit a second time and
// compares the results.
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
