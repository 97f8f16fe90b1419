package workloads

import (
	"context"
	"time"

	"coapply.dev/compare"
)

// fight is one field that several managers want, each at a value of its own.
func fight() compare.Workload {
	return compare.Workload{
		Name: "fight",
		Summary: "one field that two managers want: not forced Server-Side Apply rejects all but its owner, forced takes turns, " +
			"get-modify-update overwrites; what is overwritten counts as stolen",
		Defaults: compare.Parameters{
			Writers: 2, Objects: 1, Managers: 2, Warmup: 500 * time.Millisecond, Duration: 2500 * time.Millisecond,
		},
		Fixed:   []string{"overlap"},
		Arms:    []string{"gmu-default-retry", "gmu", "gmu-unbounded", "merge-patch", "merge-patch-rv", "ssa", "ssa-force", "apply"},
		Prepare: prepareFight,
	}
}

const contestedKey = "contested"

type contested struct{ configMaps }

// The first manager owns the field: two that owned it at the same value would both be rejected for good.
func prepareFight(ctx context.Context, stage compare.Stage) (compare.Run, error) {
	r := contested{newConfigMaps(stage)}
	return r, r.prepare(ctx, func(j int) map[string]any {
		if j > 0 {
			return nil
		}
		return map[string]any{contestedKey: "start"}
	})
}

// Next gives an intent for the contested field and nothing else.
func (r contested) Next(_ context.Context, writer, sequence int) (compare.Intent, bool, error) {
	keys := map[string]string{contestedKey: uniqueValue(writer, sequence)}
	return setData(r.intent(writer, sequence), keys), true, nil
}
