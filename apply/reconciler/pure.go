package reconciler

import (
	"errors"
	"fmt"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/emission"
)

// ErrNotPure means that two calls of Config.Emit for the same parent returned different intents. The intents were not
// applied: otherwise each reconcile would write, and each write would trigger another reconcile.
var ErrNotPure = errors.New("emit is not pure")

// pureChecks is the number of reconciles in which a Reconciler calls Config.Emit twice. A single check is not enough to
// detect an Emit that depends on the order of a map: two iterations over a map with two keys have the same order in
// more than half of all cases. More checks would cost CPU time in a process with many parents.
const pureChecks = 1000

// emitPurely calls Config.Emit. In the first pureChecks reconciles it calls Config.Emit twice, and returns ErrNotPure
// if the results differ.
func (r *Reconciler[P]) emitPurely(parent P) ([]apply.Intent, error) {
	first, err := r.Emit(parent)
	if err != nil || r.checks.Add(1) > pureChecks {
		return first, err
	}
	second, err := r.Emit(parent)
	if err != nil {
		return second, err
	}
	if difference := emission.Difference(first, second); difference != "" {
		return nil, fmt.Errorf("%w: %s", ErrNotPure, difference)
	}
	return second, nil
}
