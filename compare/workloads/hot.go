package workloads

import (
	"context"
	"fmt"
	"strings"
	"time"

	"coapply.dev/compare"
)

// hotObject is the basic workload for contention: many writers write to few objects, and each field manager
// sets a key of its own.
func hotObject() compare.Workload {
	return compare.Workload{
		Name: "hot-object",
		Summary: "ConfigMaps in which each manager has a key of its own; all managers apply their keys before the trial, " +
			"so that every arm finds the same number of managers",
		Defaults: compare.Parameters{
			Writers: 8, Objects: 1, Managers: 4, Warmup: 500 * time.Millisecond, Duration: 2500 * time.Millisecond,
		},
		Arms: []string{
			"gmu-default-retry", "gmu-requeue", "gmu-unbounded", "gmu-exponential", "gmu-replace", "patch-lock", "gmu-lanes", "update",
			"ssa", "ssa-lanes", "apply",
		},
		Prepare: prepareHotObject,
		Attach:  func(stage compare.Stage) compare.Run { return hot{newConfigMaps(stage)} },
	}
}

// sizedObject is hot-object with ConfigMaps that are larger by the given number of kilobytes. Its arms must be chosen.
func sizedObject(kilobytes int) compare.Workload {
	w := hotObject()
	w.Name = fmt.Sprintf("%s-%dkb", w.Name, kilobytes)
	w.Summary = fmt.Sprintf("like hot-object, with an annotation of %d kB that another field manager has applied", kilobytes)
	w.Arms = nil
	w.Prepare = func(ctx context.Context, stage compare.Stage) (compare.Run, error) {
		run, err := prepareHotObject(ctx, stage)
		if err != nil {
			return run, err
		}
		r := hot{newConfigMaps(stage)}
		return r, together(ctx, max(stage.Objects, 1), func(ctx context.Context, i int) error {
			padding := map[string]any{domain + "padding": strings.Repeat("x", kilobytes*1000)}
			return own(ctx, stage, r.kind, r.name(i), "", "padding", map[string]any{"metadata": map[string]any{"annotations": padding}})
		})
	}
	return w
}

type hot struct{ configMaps }

func prepareHotObject(ctx context.Context, stage compare.Stage) (compare.Run, error) {
	r := hot{newConfigMaps(stage)}
	return r, r.prepare(ctx, func(j int) map[string]any { return map[string]any{managerName(j): "start"} })
}

// Next returns an intent that sets the key of the writer's manager.
func (r hot) Next(_ context.Context, writer, sequence int) (compare.Intent, bool, error) {
	keys := map[string]string{managerName(r.manager(writer)): uniqueValue(writer, sequence)}
	return setData(r.intent(writer, sequence), keys), true, nil
}
