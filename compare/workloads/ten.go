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
		Name:    "ten-reconcilers",
		Summary: "rounds in which ten reconcilers write one object at once, each a key of its own, held between GET and PUT until all have read",
		Claims: []compare.Claim{
			{Text: "without retry 1 of 10 succeeds and 9 fail", Measure: "give_up_share", Arm: "naive", Value: 0.9},
			{Text: "without retry the round takes 20 calls, for the one that succeeds", Measure: "requests_per_intent", Arm: "naive", Value: 20},
			{Text: "without retry a write takes 50 ms in the mean", Measure: "latency_ms", Arm: "naive", Value: 50},
			{Text: "with DefaultRetry all 10 succeed", Measure: "give_up_share", Arm: "gmu-default-retry", Value: 0},
			{
				Text:    "with DefaultRetry the round takes 35 calls: 10 GET, 15 GET of retries, 10 UPDATE",
				Measure: "requests_per_intent", Arm: "gmu-default-retry", Value: 3.5,
				Contradiction: "15 retries imply 25 UPDATEs, so 50 calls; and if of those that are left one succeeds at each attempt, " +
					"as the first claim has it, 5 attempts are enough for 5 of 10",
			},
			{Text: "with DefaultRetry a write takes 80 ms in the mean", Measure: "latency_ms", Arm: "gmu-default-retry", Value: 80},
			{
				Text:          "retrying costs 75 % more calls",
				Contradiction: "35 against 20 are calls of a round; for each write that succeeds they are 3.5 against 20",
			},
		},
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
