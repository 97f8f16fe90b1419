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

// atOnce is the largest number of concurrent writes in one reconcile.
const atOnce = 16

// result is the outcome of the writes to pods that a decision lists.
type result struct {
	errs    []error // the errors of the writes, sorted by step and ordinal
	changed bool    // at least one pod was not deleted, because it had changed since the decision
}

// after returns the time until the next reconcile if no event starts one earlier; 0 means that none is scheduled.
func (r result) after(d *decision) time.Duration {
	if r.changed {
		return lookAgain
	}
	return d.after
}

// carryOut deletes, creates and corrects the pods that a decision lists. If one of these three
// steps fails, the other steps still run.
func (n nodeSets) carryOut(ctx context.Context, set *v1alpha1.NodeSet, d *decision) result {
	var changed atomic.Bool
	removeErrs := inBatches(len(d.remove), func(i int) error {
		asDecided, err := setup.DeleteAsRead(ctx, n.client, n.live, d.remove[i])
		if !asDecided && err == nil { // the pod has changed or was replaced: the next reconcile decides
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

// inBatches calls work(0) to work(pieces-1) in concurrent batches of 1, 2, 4 and so on up to atOnce
// calls. It stops after a batch with a forbidden error, because the next calls would fail too (such
// as by a full quota), or after atOnce errors. It returns the errors in the order of the pieces.
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

// foreignError returns an error with the names of pods that belong to other owners, at most five.
func foreignError(names []string) error {
	if len(names) == 0 {
		return nil
	}
	const some = 5
	list := strings.Join(names[:min(len(names), some)], ", ")
	if len(names) > some {
		list += fmt.Sprintf(" and %d more", len(names)-some)
	}
	return errors.New("pods with these names exist already and are someone else's; delete them: " + list)
}
