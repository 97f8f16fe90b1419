package contention

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/peers/deployment"
	"coapply.dev/compare/results"
	"coapply.dev/compare/target"
	"coapply.dev/compare/trial"
)

// Options of a run.
type Options struct {
	Catalogue compare.Catalogue
	Rounds    int
	Quick     bool
	// Spread runs the trials of SpreadRows in place of those of Rows.
	Spread bool
	// Progress gets a line for each trial.
	Progress io.Writer
}

// Run makes every trial once a round, in random order. It gives the trials of each round by their id; a void one is told
// of and left out of what is reckoned.
func Run(ctx context.Context, t *target.Target, options Options) (rounds []Round, err error) {
	trials := kinds
	if options.Spread {
		trials = spread
	}
	r := &runner{Options: options, target: t, pool: &trial.Pool{}}
	defer func() { err = errors.Join(err, r.pool.Close()) }()
	if _, err := r.trial(ctx, "before round 1", 0, warmUp); err != nil {
		return nil, err
	}
	for n := 1; n <= options.Rounds; n++ {
		round := Round{}
		for _, k := range shuffled(trials) {
			t, err := r.trial(ctx, fmt.Sprintf("round %d of %d", n, options.Rounds), n, k)
			if err != nil {
				return rounds, err
			}
			round[k.id] = t
		}
		rounds = append(rounds, round)
	}
	return rounds, nil
}

// Round is the trials of one round by their id.
type Round map[string]results.Trial

type runner struct {
	Options

	target *target.Target
	pool   *trial.Pool
	order  int
}

func shuffled(trials []kind) []kind {
	order := make([]kind, 0, len(trials))
	for _, i := range rand.Perm(len(trials)) {
		order = append(order, trials[i])
	}
	return order
}

func (r *runner) trial(ctx context.Context, title string, block int, k kind) (results.Trial, error) {
	arm, found := r.Catalogue.Arm(k.arm)
	if !found {
		return results.Trial{}, fmt.Errorf("there is no arm %s", k.arm)
	}
	r.order++
	began := time.Now()
	recorded, err := trial.Run(ctx, r.target, trial.Spec{
		ID: fmt.Sprintf("%d-%s", block, k.id), Cell: k.cell(r.Quick), Arm: arm, Workload: deployment.Hot(),
		Block: block, Order: r.order, Seed: rand.Uint64(), Pool: r.pool,
	})
	if err != nil {
		return results.Trial{}, err
	}
	if ctx.Err() != nil {
		return results.Trial{}, context.Cause(ctx)
	}
	t := recorded.Trial
	fmt.Fprintf(r.Progress, "%s: %-16s %s, in %s\n", title, k.id, tell(t), time.Since(began).Round(time.Second/10))
	return t, nil
}

func tell(t results.Trial) string {
	if t.Void != "" {
		return "void: " + t.Void
	}
	return fmt.Sprintf("%6.1f intents/s, p99 %.0f ms, %d lost", goodput(t), p99(t), t.Oracle.LostUpdates())
}
