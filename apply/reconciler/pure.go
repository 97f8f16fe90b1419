package reconciler

import (
	"errors"
	"fmt"

	"coapply.dev/apply/internal/emission"
)

// ErrNotPure means that two calls of Config.Emit for the same parent returned different intents. The intents were not
// applied: otherwise each reconcile would write, and each write would trigger another reconcile.
var ErrNotPure = errors.New("emit is not pure")

const (
	// pureChecks is the number of reconciles of each parent in which Config.Emit is called twice. One would not be
	// enough to detect an Emit that depends on the order of a map: two iterations over a map with two keys have the
	// same order in more than half of all cases.
	pureChecks = 10
	// rememberedChecks is the number of parents for which a process remembers, at least, how often it has called Emit
	// twice.
	rememberedChecks = 8192
)

// emitPurely calls Config.Emit. In the first reconciles of a parent it calls Config.Emit twice, and returns ErrNotPure
// if the results differ.
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
