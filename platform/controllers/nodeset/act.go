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

// atOnce is the maximum number of concurrent writes in one reconcile.
const atOnce = 16

// result is the outcome of all writes to pods in one reconcile.
type result struct {
	errs    []error // the errors of the writes: first of deletions, then of creations, then of corrections
	changed bool    // at least one pod was not deleted, because it had changed after it was read
}

// after returns the delay before the next reconcile. It returns 0 if the next reconcile can wait for an event.
func (r result) after(d *decision) time.Duration {
	if r.changed {
		return lookAgain
	}
	return d.after
}

// carryOut does the writes of a decision: it deletes pods, then creates pods, then corrects pods.
// If one of these steps fails, the next steps still run.
func (n nodeSets) carryOut(ctx context.Context, set *v1alpha1.NodeSet, d *decision) result {
	var changed atomic.Bool
	removeErrs := inBatches(len(d.remove), func(i int) error {
		asDecided, err := setup.DeleteAsRead(ctx, n.client, n.live, d.remove[i])
		if !asDecided && err == nil { // the pod has changed or was replaced: the next reconcile decides again
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

// inBatches calls the given function for each number from 0 to pieces-1. The calls run in concurrent batches of 1, 2,
// 4 and so on, up to atOnce calls. No batch starts after a forbidden error (for example, if a quota is exceeded) or
// after atOnce errors. The errors are returned in the order of the calls.
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

// foreignError returns an error that lists pods of other owners whose names the NodeSet needs, or
// nil if there are none. The error has at most five names.
func foreignError(names []string) error {
	if len(names) == 0 {
		return nil
	}
	const some = 5
	list := strings.Join(names[:min(len(names), some)], ", ")
	if len(names) > some {
		list += fmt.Sprintf(" and %d more", len(names)-some)
	}
	return errors.New("pods of someone else have names that this NodeSet needs; delete these pods: " + list)
}
