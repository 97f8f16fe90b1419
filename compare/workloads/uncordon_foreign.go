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
// -ln(1 - staleShare) / window. How long the window is depends on how busy the arm keeps the server. A canary, a node that
// no operator uses, is read and written all the time by plain get-modify-update under the same rate: it keeps the window
// up to date from where the pilot had it, and its stale writes tell what share was reached, under any arm.
type foreign struct {
	stage  compare.Stage
	nodes  []string     // the canary first
	window atomic.Int64 // nanoseconds
	random []*rand.Rand

	began, ended            time.Time
	writes, attempts, stale atomic.Int64
}

func newForeign(stage compare.Stage, nodes []string, window time.Duration) *foreign {
	f := &foreign{stage: stage, nodes: nodes}
	f.window.Store(int64(window))
	for range nodes {
		f.random = append(f.random, rand.New(rand.NewPCG(stage.Random.Uint64(), stage.Random.Uint64())))
	}
	return f
}

// pause is the time between two writes to one node.
func (f *foreign) pause(random *rand.Rand) time.Duration {
	mean := float64(f.window.Load()) / -math.Log(1-staleShare)
	return time.Duration(random.ExpFloat64() * mean)
}

// recent is how many attempts of the canary the mean window reaches back.
const recent = 20

func (f *foreign) learn(window time.Duration) {
	mean := f.window.Load()
	f.window.Store(mean + (int64(window)-mean)/recent)
}

func (f *foreign) run(ctx context.Context) error {
	f.began = time.Now()
	defer func() { f.ended = time.Now() }()
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
		due = due.Add(f.pause(random))
		if !sleepUntil(ctx, due) {
			return nil
		}
		value := map[string]any{"metadata": map[string]any{"annotations": map[string]any{foreignAnnotation: strconv.Itoa(i)}}}
		if err := finishing(ctx, func(ctx context.Context) error {
			return mergeInto(ctx, f.stage.Admin, node, value, "foreign")
		}); err != nil {
			return fmt.Errorf("the foreign writer on node %s: %w", node, err)
		}
		f.writes.Add(1)
	}
}

func (f *foreign) watchCanary(ctx context.Context) error {
	for i := 0; sleepUntil(ctx, time.Now().Add(nodePoll)); i++ {
		err := finishing(ctx, func(ctx context.Context) error {
			window, err := plainAttempt(ctx, f.stage, f.nodes[0], func(node *unstructured.Unstructured) error {
				return unstructured.SetNestedField(node.Object, strconv.Itoa(i), "metadata", "annotations", domain+"canary")
			})
			if window > 0 {
				f.learn(window)
			}
			return err
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

// finishing lets a request that is under way come to its end when the background is told to end.
func finishing(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), nodePatience)
	defer cancel()
	return request(ctx)
}

func (f *foreign) counted() map[string]float64 {
	counted := map[string]float64{
		"foreign_writes": float64(f.writes.Load()),
		"window_ms":      float64(f.window.Load()) / float64(time.Millisecond),
	}
	if took := f.ended.Sub(f.began).Seconds(); took > 0 {
		counted["foreign_writes_per_node_second"] = float64(f.writes.Load()) / float64(len(f.nodes)) / took
	}
	if attempts := f.attempts.Load(); attempts > 0 {
		counted["canary_attempts"] = float64(attempts)
		counted["canary_stale_share"] = float64(f.stale.Load()) / float64(attempts)
	}
	return counted
}
