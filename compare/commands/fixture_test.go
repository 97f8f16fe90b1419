package commands

import (
	"errors"
	"fmt"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/decided"
	"coapply.dev/compare/results"
)

// measuredRun writes a folder as a finished run leaves it: two arms, ten times each, and the controls, which lost.
func measuredRun(dir string) error {
	p := compare.Parameters{Writers: 4, Objects: 1, Managers: 4, Duration: time.Second}
	cell := compare.Cell{Workload: "hot-object", Parameters: p}
	ended := time.Unix(1_700_000_060, 0).UTC()
	run := results.Run{
		Schema: results.Schema, Command: "compare run --seed 1", Seed: 1, Started: ended.Add(-time.Minute), Ended: &ended,
		Profile: "custom", Decided: decided.Hash(), Environment: results.Environment{Commit: "abc", CPU: "one"},
		Plan: []results.PlannedCell{
			{Cell: cell, Arms: []string{"ssa", "apply"}, Blocks: 10, Baseline: "ssa"},
			{Cell: cell, Arms: []string{"put-no-rv", "shared-manager"}, Blocks: 1, Control: true},
		},
	}
	folder, err := results.Create(dir)
	if err != nil {
		return err
	}
	err = folder.SaveRun(run)
	for _, planned := range run.Plan {
		for i, arm := range planned.Arms {
			for block := range planned.Blocks {
				err = errors.Join(err, folder.Append(measuredTrial(planned, arm, block, 100*(i+1)+block)))
			}
		}
	}
	return errors.Join(err, folder.Close())
}

func measuredTrial(planned results.PlannedCell, arm string, block, landed int) results.Trial {
	h := results.NewHistogram()
	for i := range landed {
		_ = h.RecordValue(int64(1000 + i)) // within its bounds
	}
	encoded, err := results.EncodeHistogram(h)
	if err != nil {
		panic(err)
	}
	counts := results.Counts{Intents: landed, Landed: landed}
	t := results.Trial{
		ID: fmt.Sprintf("%s-%d", arm, block), Cell: planned.Cell, Arm: arm, Block: block, Measured: time.Second, Timed: counts,
		All: counts, Latency: results.Latency{Histogram: encoded}, Service: results.Latency{Histogram: encoded},
		Oracle: results.Oracle{Acknowledged: landed, Found: landed},
		Client: results.Client{Busy: 900 * time.Millisecond, Own: time.Millisecond, CPU: 0.1},
	}
	if planned.Control {
		t.Oracle.Lost = 3
	}
	return t
}
