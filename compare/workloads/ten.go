package workloads

import (
	"context"
	"slices"

	"coapply.dev/compare"
)

// tenReconcilers is the workload of a published example of stale writes: ten reconcilers write to one object at
// the same time.
func tenReconcilers() compare.Workload {
	return compare.Workload{
		Name:          "ten-reconcilers",
		Summary:       "rounds in which ten reconcilers write one object at once: each sets its own key, and waits between GET and PUT until all have read",
		Demonstration: true,
		Defaults:      compare.Parameters{Writers: 10, Objects: 1, Managers: 10, Rounds: 30},
		Fixed:         []string{"objects", "rate", "warmup", "duration"},
		Arms:          []string{"gmu-default-retry", "naive", "gmu-unbounded", "patch-lock", "ssa", "apply"},
		Prepare:       prepareTen,
	}
}

type ten struct {
	configMaps
	gate *gate // a writer arrives at step n when it has read in round n, or when it has ended round n
}

func prepareTen(ctx context.Context, stage compare.Stage) (compare.Run, error) {
	r := &ten{configMaps: newConfigMaps(stage), gate: newGate(stage.Writers)}
	return r, r.prepare(ctx, func(j int) map[string]any { return map[string]any{managerName(j): "start"} })
}

// Next returns an intent whose Pause waits until all writers of the round have read. A writer that starts the round
// early may read while other writers still write in the previous round, and its read is then stale. The last writer
// of the previous round reads the newest version, so one of the first attempts always succeeds.
func (r *ten) Next(_ context.Context, writer, round int) (compare.Intent, bool, error) {
	r.gate.arrive(writer, round-1)
	if r.over(round) {
		return compare.Intent{}, false, nil
	}
	keys := map[string]string{managerName(r.manager(writer)): uniqueValue(writer, round)}
	intent := setData(r.intent(writer, round), keys)
	intent.Pause = func(ctx context.Context) error { return r.gate.pass(ctx, writer, round) }
	return intent, true, nil
}

// Finish returns the number of rounds in which all writers took part. The trial's requests divided by this number are
// the requests per round.
func (r *ten) Finish(context.Context) (map[string]float64, error) {
	r.gate.mu.Lock()
	defer r.gate.mu.Unlock()
	return map[string]float64{"rounds": float64(slices.Min(r.gate.steps) + 1)}, nil
}
