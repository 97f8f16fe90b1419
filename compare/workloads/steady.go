package workloads

import (
	"context"
	"time"

	"coapply.dev/compare"
)

// steadyState is a workload of reconciles that find nothing to change. Most reconciles of a controller are of this kind.
func steadyState() compare.Workload {
	return compare.Workload{
		Name: "steady-state",
		Summary: "intents that find nothing to change, in a closed loop without think time: compare the requests per intent; " +
			"the goodput shows only how fast an arm does nothing",
		Defaults: compare.Parameters{
			Writers: 4, Objects: 1, Managers: 4, Warmup: 500 * time.Millisecond, Duration: 1500 * time.Millisecond,
		},
		Arms:    []string{"gmu-default-retry", "gmu-requeue", "update", "ssa", "ssa-lanes", "apply"},
		Prepare: prepareSteady,
	}
}

const steadyValue = "steady"

type steady struct{ configMaps }

func prepareSteady(ctx context.Context, stage compare.Stage) (compare.Run, error) {
	r := steady{newConfigMaps(stage)}
	return r, r.prepare(ctx, func(j int) map[string]any { return map[string]any{managerName(j): steadyValue} })
}

// Next returns an intent for a value that the manager already owns. All intents of a manager have the same value, so
// the value in a version of the object does not show which intent wrote it.
func (r steady) Next(_ context.Context, writer, sequence int) (compare.Intent, bool, error) {
	keys := map[string]string{managerName(r.manager(writer)): steadyValue}
	return setData(r.intent(writer, sequence), keys), true, nil
}
