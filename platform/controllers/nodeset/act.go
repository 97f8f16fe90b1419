package nodeset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/setup"
)

// atOnce is how many writes of a round are under way together.
const atOnce = 16

// result is what became of a decision.
type result struct {
	errs    []error // in the order of the ordinals
	changed bool    // a pod had changed, and was not deleted
}

// after returns when to look again without an event; 0 for not at all.
func (r result) after(d *decision) time.Duration {
	if r.changed {
		return lookAgain
	}
	return d.after
}

// carryOut deletes, creates and mends. If one of them is refused, the others go on.
func (n nodeSets) carryOut(ctx context.Context, set *v1alpha1.NodeSet, d *decision) result {
	var changed atomic.Bool
	removeErrs := inBatches(len(d.remove), func(i int) error {
		asDecided, err := setup.DeleteAsRead(ctx, n.client, n.live, d.remove[i])
		if !asDecided && err == nil { // it has changed, or is another one: that is decided anew
			changed.Store(true)
		}
		return err
	})
	apply := func(ordinals []int) []error {
		return inBatches(len(ordinals), func(i int) error {
			intent := podIntent(set, ordinals[i])
			intent.Belongs = isNodeSets
			_, err := n.applier.Apply(ctx, intent)
			return err
		})
	}
	return result{slices.Concat(removeErrs, apply(d.create), apply(d.mend)), changed.Load()}
}

// inBatches calls work for each piece: for the first alone, then for twice as many at a time as
// before, at most atOnce. It ends when one is forbidden, as the next would be, too (for example
// by a quota that is used up), or atOnce have failed. It returns the errors in the order of the
// pieces.
func inBatches(pieces int, work func(piece int) error) []error {
	var failed []error
	for from, n := 0, 1; from < pieces && len(failed) < atOnce; from, n = from+n, min(2*n, atOnce) {
		errs := make([]error, min(n, pieces-from))
		var group sync.WaitGroup
		for i := range errs {
			group.Go(func() { errs[i] = work(from + i) })
		}
		group.Wait()
		failed = append(failed, slices.DeleteFunc(errs, func(err error) bool { return err == nil })...)
		if slices.ContainsFunc(failed, apierrors.IsForbidden) {
			break
		}
	}
	return failed
}

// foreignError returns an error with the names that are someone else's, as far as there is
// room.
func foreignError(names []string) error {
	if len(names) == 0 {
		return nil
	}
	const some = 5
	list := strings.Join(names[:min(len(names), some)], ", ")
	if len(names) > some {
		list += fmt.Sprintf(" and %d more", len(names)-some)
	}
	return errors.New("these pods were there before and are someone else's: " + list)
}
