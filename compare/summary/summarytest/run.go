package summarytest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"coapply.dev/compare/decided"
	"coapply.dev/compare/results"
)

// Seed of the run that is made up.
const Seed = 42

// started is when the made-up run began.
var started = time.Date(2026, time.November, 2, 9, 0, 0, 0, time.UTC)

// Run makes up a review run with so many blocks.
func Run(blocks int) (results.Run, []results.Trial) {
	run := Plan(blocks)
	var trials []results.Trial
	for block := range blocks {
		// What a block shares, such as a noisy neighbour, all arms of it have alike.
		noise := rand.New(rand.NewPCG(Seed, uint64(block)))
		shared := math.Exp(0.05 * noise.NormFloat64())
		for _, cell := range run.Plan {
			if block >= cell.Blocks {
				continue
			}
			for _, arm := range cell.Arms {
				trials = append(trials, trial(cell, arm, false, block, len(trials), shared))
			}
			if cell.AA != "" {
				trials = append(trials, trial(cell, cell.AA, true, block, len(trials), shared))
			}
		}
	}
	return run, trials
}

// Plan is the run without its trials.
func Plan(blocks int) results.Run {
	cells := plan(blocks)
	ended := started.Add(15 * time.Minute)
	return results.Run{
		Schema: results.Schema, Command: fmt.Sprintf("compare run --review --seed %d -o DIR", Seed), Seed: Seed,
		Started: started, Ended: &ended, Profile: "review", Plan: cells, Decided: decided.Hash(),
		Environment: environment(), Arms: armInfos(cells), Workloads: workloads(),
	}
}

// trial makes up one trial. The figures follow from a few of its own random numbers.
func trial(cell results.PlannedCell, arm string, aa bool, block, order int, shared float64) results.Trial {
	random := rand.New(rand.NewPCG(Seed, uint64(order)))
	b := behave(arm, cell.Parameters)
	b.goodput *= shared * math.Exp(0.03*random.NormFloat64())
	b.cpu *= math.Exp(0.02 * random.NormFloat64())
	b.noop = cell.Workload == "steady-state" && (arm == "apply" || arm == "gmu-requeue")
	seconds := cell.Duration.Seconds()
	all := (cell.Warmup + cell.Duration).Seconds() / seconds
	landed := max(1, int(b.goodput*seconds))
	givenUp := int(float64(landed) * b.giveUp / (1 - b.giveUp))
	load := 1.5 + random.Float64()
	t := results.Trial{
		ID: fmt.Sprintf("%04d-%s-w%d-m%d-%s", order, cell.Workload, cell.Writers, cell.Managers, arm), Cell: cell.Cell,
		Arm: arm, AA: aa, Block: block, Order: order, Seed: random.Uint64(), LoadAverage: &load,
		Started: started.Add(time.Duration(order) * 2 * time.Second), Measured: cell.Duration,
		Timed: counts(landed, givenUp, b.noop), All: counts(int(float64(landed)*all), int(float64(givenUp)*all), b.noop),
	}
	t.Service = latency(cell.Writers, landed, givenUp, seconds, random)
	t.Latency = t.Service
	for writer := range cell.Writers {
		share := landed / cell.Writers
		if writer < landed%cell.Writers {
			share++
		}
		t.PerWriter = append(t.PerWriter, share)
	}
	generator, apiserver, etcd := 0.4, 0.6, 0.1
	t.Load = results.Shares{Generator: &generator, APIServer: &apiserver, Etcd: &etcd}
	t.Client = client(t, b)
	t.Server = server(t, b)
	t.Oracle = judged(t, loses(arm, cell.Workload))
	if cell.Workload == "hot-object" && cell.Writers == 4 && block == 0 {
		t.Oracle.Porcupine = "agrees: linearisable"
	}
	return t
}

func counts(landed, givenUp int, noop bool) results.Counts {
	c := results.Counts{Intents: landed + givenUp, Landed: landed, GaveUp: givenUp}
	if noop {
		c.Skipped = landed
	}
	return c
}

// latency keeps Little's law: so many writers, busy all the time, made so many intents.
func latency(writers, landed, givenUp int, seconds float64, random *rand.Rand) results.Latency {
	mean := 0.99 * float64(writers) * seconds * 1e6 / float64(landed+givenUp)
	sigma := 0.2 + 0.04*float64(min(writers, 20))
	samples := make([]float64, landed)
	sum := 0.0
	for i := range samples {
		samples[i] = math.Exp(sigma * random.NormFloat64())
		sum += samples[i]
	}
	h := results.NewHistogram()
	for _, sample := range samples {
		rounded := 20 * int64(max(1, sample*mean*float64(landed)/sum/20)) // coarse, so that the sample is small
		_ = h.RecordValue(rounded)                                        // within an hour by construction
	}
	encoded, err := results.EncodeHistogram(h)
	if err != nil {
		panic(err) // no histogram of ours is refused
	}
	return results.Latency{Histogram: encoded, NotLanded: givenUp}
}

// Save writes a run as a finished one leaves it.
func Save(folder string, run results.Run, trials []results.Trial) error {
	f, err := results.Create(folder, run)
	if err != nil {
		return err
	}
	for _, trial := range trials {
		err = errors.Join(err, f.Append(trial))
	}
	return errors.Join(err, f.Close())
}
