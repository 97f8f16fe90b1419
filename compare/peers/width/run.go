package width

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
	"coapply.dev/compare/target"
	"coapply.dev/compare/trial"
)

// Options of a run.
type Options struct {
	Catalogue compare.Catalogue
	Rounds    int
	Quick     bool
	// Progress gets a line for each trial.
	Progress io.Writer
}

// Round is what was measured in one: goodput of each trial, intents a second, and more of some.
type Round struct {
	trials  map[one]results.Trial
	changes []change
}

// Run makes every trial once a round, in random order, and then changes the round trip while writers write.
func Run(ctx context.Context, t *target.Target, options Options) (rounds []Round, err error) {
	for n := 1; n <= options.Rounds; n++ {
		round := Round{trials: map[one]results.Trial{}}
		all := trials(options.Quick)
		for i, at := range rand.Perm(len(all)) {
			o := all[at]
			measured, err := options.trial(ctx, t, n, i, o)
			if err != nil {
				return rounds, err
			}
			round.trials[o] = measured
			fmt.Fprintf(options.Progress, "round %d of %d: %-9s %-18s %s\n", n, options.Rounds, o.arm, o.cell, tell(measured))
		}
		if round.changes, err = measureChanges(ctx, t, options); err != nil {
			return rounds, err
		}
		rounds = append(rounds, round)
	}
	return rounds, nil
}

func (o Options) trial(ctx context.Context, t *target.Target, block, order int, one one) (results.Trial, error) {
	arm, found := o.Catalogue.Arm(one.arm)
	if !found {
		return results.Trial{}, fmt.Errorf("there is no arm %s", one.arm)
	}
	w, found := o.Catalogue.Workload(workload)
	if !found {
		return results.Trial{}, fmt.Errorf("there is no workload %s", workload)
	}
	recorded, err := trial.Run(ctx, t, trial.Spec{
		ID: fmt.Sprintf("%d-%s-w%d-%s", block, one.arm, one.writers, one.trip), Cell: one.in(o.Quick), Arm: arm, Workload: w,
		Block: block, Order: order, Seed: rand.Uint64(),
	})
	switch {
	case err != nil:
		return results.Trial{}, err
	case ctx.Err() != nil:
		return results.Trial{}, context.Cause(ctx)
	}
	return recorded.Trial, nil
}

func tell(t results.Trial) string {
	if t.Void != "" {
		return "void: " + t.Void
	}
	return fmt.Sprintf("%6.1f intents/s, %.2f requests each, %d lost", goodput(t), requestsEach(t), t.Oracle.LostUpdates())
}

// goodput is 0 for a trial that does not count.
func goodput(t results.Trial) float64 {
	if g := t.Goodput(); t.Void == "" && g != nil {
		return *g
	}
	return 0
}

// requestsEach is how many requests were sent for an intent that landed, over the whole trial; measurements of
// the round trip included.
func requestsEach(t results.Trial) float64 {
	sent := 0
	for what, requests := range t.Client.Requests {
		if !strings.HasSuffix(what, " none") {
			sent += requests.Count
		}
	}
	return float64(sent) / float64(max(t.All.Landed, 1))
}

// during is how long each round trip lasts that is changed to.
func (o Options) during() time.Duration {
	if o.Quick {
		return time.Second
	}
	return 8 * time.Second
}
