package workloads

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/compare"
)

// staleShare of plain get-modify-update attempts that the foreign writer aims at.
const staleShare = 0.05

const foreignAnnotation = domain + "foreign"

// foreign rewrites an annotation of each node at random times (Poisson), as kubelets and controllers do. An attempt is
// stale if such a write falls into its window, from the read to the write, so the rate per node is
// -ln(1 - staleShare) / window. A canary, a node that no operator uses, is read and written all the time by plain
// get-modify-update under the same rate: its stale writes tell what share was reached, under any arm.
type foreign struct {
	stage  compare.Stage
	nodes  []string // the canary first
	window time.Duration
	rate   float64 // writes a second to each node
	random []*rand.Rand

	writes, attempts, stale atomic.Int64
}

func newForeign(stage compare.Stage, nodes []string, window time.Duration) *foreign {
	f := &foreign{stage: stage, nodes: nodes, window: window, rate: -math.Log(1-staleShare) / window.Seconds()}
	for range nodes {
		f.random = append(f.random, rand.New(rand.NewPCG(stage.Random.Uint64(), stage.Random.Uint64())))
	}
	return f
}

func (f *foreign) run(ctx context.Context) error {
	err := together(ctx, len(f.nodes)+1, func(ctx context.Context, i int) error {
		if i == len(f.nodes) {
			return f.watchCanary(ctx)
		}
		return f.disturb(ctx, f.nodes[i], f.random[i])
	})
	if ctx.Err() == nil && err != nil { // it was not told to end
		return fmt.Errorf("disturbing nodes: %w", err)
	}
	return nil
}

// disturb keeps to the times of a Poisson process, however long a write takes.
func (f *foreign) disturb(ctx context.Context, node string, random *rand.Rand) error {
	due := time.Now()
	for i := 0; ; i++ {
		due = due.Add(time.Duration(random.ExpFloat64() / f.rate * float64(time.Second)))
		if !sleepUntil(ctx, due) {
			return nil
		}
		value := map[string]any{"metadata": map[string]any{"annotations": map[string]any{foreignAnnotation: strconv.Itoa(i)}}}
		if err := mergeInto(ctx, f.stage.Admin, node, value, "foreign"); err != nil {
			return fmt.Errorf("the foreign writer on node %s: %w", node, err)
		}
		f.writes.Add(1)
	}
}

func (f *foreign) watchCanary(ctx context.Context) error {
	for i := 0; sleepUntil(ctx, time.Now().Add(nodePoll)); i++ {
		_, err := plainAttempt(ctx, f.stage, f.nodes[0], func(node *unstructured.Unstructured) error {
			return unstructured.SetNestedField(node.Object, strconv.Itoa(i), "metadata", "annotations", domain+"canary")
		})
		if err != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("the canary %s: %w", f.nodes[0], err)
		}
		if err != nil {
			f.stale.Add(1)
		}
		f.attempts.Add(1)
	}
	return nil
}

func (f *foreign) counted() map[string]float64 {
	counted := map[string]float64{
		"foreign_writes":                 float64(f.writes.Load()),
		"foreign_writes_per_node_second": f.rate,
		"window_ms":                      float64(f.window) / float64(time.Millisecond),
	}
	if attempts := f.attempts.Load(); attempts > 0 {
		counted["canary_attempts"] = float64(attempts)
		counted["canary_stale_share"] = float64(f.stale.Load()) / float64(attempts)
	}
	return counted
}
