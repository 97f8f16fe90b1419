// Package micro times what a reconcile costs its own process when nothing has to change, on a Deployment as the API server
// gave it.
package micro

import (
	"context"
	"flag"
	"fmt"
	"io"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/compare/peers/deployment"
	"coapply.dev/compare/peers/measure"
	"coapply.dev/compare/peers/world"
	"coapply.dev/compare/target"
)

// Options of the measuring.
type Options struct {
	Rounds   int
	Quick    bool
	Progress io.Writer
}

// one is a function to be timed.
type one struct {
	name string
	// call is timed, n counting from 0.
	call func(ctx context.Context, n int) error
}

// timing is what the rounds of one function came to, for each call.
type timing struct {
	seconds, allocations []float64
}

// setup is what the functions are called with.
type setup struct {
	world *world.World
	name  string
	// versions of one Deployment differ by what others wrote, and not in what m0 owns.
	versions []*appsv1.Deployment
}

// Measure gives the rows.
func Measure(ctx context.Context, t *target.Target, options Options) ([]measure.Row, error) {
	w, err := world.Open(ctx, t)
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	s, err := prepare(ctx, w)
	if err != nil {
		return nil, err
	}
	defer func() { _ = deployment.Remove(context.WithoutCancel(ctx), w.Admin, w.Namespace, s.name) }() // its namespace goes anyway
	all, err := s.functions(ctx)
	if err != nil {
		return nil, err
	}
	mgr, counter, stop, err := startManager(ctx, t)
	if err != nil {
		return nil, err
	}
	defer stop()
	door, err := s.frontDoor(ctx, mgr, counter)
	if err != nil {
		return nil, err
	}
	all = append(all, door)
	if err := benchTime(options.Quick); err != nil {
		return nil, err
	}
	timings := map[string]*timing{}
	if err := benchmarks(ctx, timings, options); err != nil {
		return nil, err
	}
	for round := range options.Rounds {
		for _, o := range all {
			if err := of(timings, o.name).add(ctx, o); err != nil {
				return nil, fmt.Errorf("%s: %w", o.name, err)
			}
		}
		fmt.Fprintf(options.Progress, "round %d of %d\n", round+1, options.Rounds)
	}
	return rows(timings), nil
}

const (
	versions = 8
	settle   = 10 * time.Second
)

// prepare gives versions of a Deployment, the last of which is in the cache.
func prepare(ctx context.Context, w *world.World) (*setup, error) {
	s := &setup{world: w, name: "timed"}
	if err := deployment.Prepare(ctx, w.Admin, w.Namespace, s.name, deployment.Managers, nil); err != nil {
		return nil, err
	}
	for n := range versions {
		if err := w.Disturbed(ctx, s.name, n); err != nil {
			return nil, fmt.Errorf("writing as another manager: %w", err)
		}
		live := &appsv1.Deployment{}
		if err := w.Admin.Get(ctx, types.NamespacedName{Namespace: w.Namespace, Name: s.name}, live); err != nil {
			return nil, err
		}
		s.versions = append(s.versions, live)
	}
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	for version := ""; version != s.versions[versions-1].ResourceVersion; {
		var err error
		if version, err = w.Changed(ctx, s.name, version); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// benchTime is how long each function is called in each round.
func benchTime(quick bool) error {
	if flag.Lookup("test.benchtime") == nil {
		testing.Init()
	}
	length := "300ms"
	if quick {
		length = "20x"
	}
	return flag.Set("test.benchtime", length)
}

func of(all map[string]*timing, name string) *timing {
	if all[name] == nil {
		all[name] = &timing{}
	}
	return all[name]
}

func (t *timing) add(ctx context.Context, o one) error {
	var failure error
	result := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			if err := o.call(ctx, n); err != nil {
				failure = err
				b.FailNow()
			}
		}
	})
	if failure != nil {
		return failure
	}
	t.seconds = append(t.seconds, float64(result.T.Nanoseconds())/float64(result.N)/1e9)
	t.allocations = append(t.allocations, float64(result.AllocsPerOp()))
	return nil
}
