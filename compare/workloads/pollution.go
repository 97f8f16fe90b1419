package workloads

import (
	"context"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
)

// cachePollution is a workload for a race of two goroutines on one cached object. It makes the race happen in a
// fixed order: one goroutine changes the object that it got from the cache, another reads the object from the
// cache, and then the write of the first is rejected.
func cachePollution() compare.Workload {
	return compare.Workload{
		Name: "cache-pollution",
		Summary: "a cache without copies (UnsafeDisableDeepCopy): before the first write of each intent, another reader " +
			"reads the object from the cache, and another client changes the object",
		Demonstration: true,
		Defaults:      compare.Parameters{Writers: 1, Objects: 4, Managers: 1, Rounds: 20},
		Fixed: []string{
			"writers", "managers", "rate", "warmup", "duration", // several writers would make the order random
		},
		Arms:        []string{"gmu-requeue", "gmu-default-retry", "ssa", "apply"},
		SharedCache: true,
		Prepare:     preparePollution,
	}
}

// pollution is a trial of the workload. It needs no locks, because it has only one writer.
type pollution struct {
	configMaps

	polluted int
}

func preparePollution(ctx context.Context, stage compare.Stage) (compare.Run, error) {
	r := &pollution{configMaps: newConfigMaps(stage)}
	return r, r.prepare(ctx, func(int) map[string]any { return map[string]any{"wanted": "start"} })
}

// Next returns an intent in which another client writes to the object just before the arm's first write. If the arm
// applies, the other client writes in Intent.Pause, before the apply. Otherwise, the other client writes in
// Intent.Modify, after the arm has changed the object in its memory. The arm's first update is then stale.
func (r *pollution) Next(ctx context.Context, writer, sequence int) (compare.Intent, bool, error) {
	intent := setData(r.intent(writer, sequence), map[string]string{"wanted": uniqueValue(writer, sequence)})
	if err := r.waitCache(ctx, intent.Name); err != nil {
		return compare.Intent{}, false, err
	}
	if appliesFields(r.stage.Arm) {
		intent.Pause = func(ctx context.Context) error { return r.disturb(ctx, intent) }
		return intent, true, nil
	}
	modify, first := intent.Modify, true
	intent.Modify = func(o *unstructured.Unstructured) error {
		if err := modify(o); err != nil || !first {
			return err
		}
		first = false
		return r.disturb(ctx, intent)
	}
	return intent, true, nil
}

// disturb first reads the object from the cache, as another goroutine would, and checks whether it has the arm's
// value. Then it writes to the object twice, as another controller would. After the second write, the cache
// contains a new object, which the arm does not hold.
func (r *pollution) disturb(ctx context.Context, intent compare.Intent) error {
	o := build(r.stage, r.kind, intent.Name, nil)
	if err := r.cache().Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return fmt.Errorf("reading the object from the cache: %w", err)
	}
	if maps.Equal(r.Fields(o), intent.Wants) {
		r.polluted++
	}
	for i := range 2 {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"foreign":"%d-%d"}}}`, intent.Sequence, i)
		o := build(r.stage, r.kind, intent.Name, nil)
		if err := r.stage.Admin.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch), client.FieldOwner("foreign")); err != nil {
			return fmt.Errorf("writing as the field manager \"foreign\": %w", err)
		}
	}
	return r.waitCache(ctx, intent.Name)
}

// waitCache waits until the cache has the same version of the object as the API server.
func (r *pollution) waitCache(ctx context.Context, name string) error {
	live, cached := build(r.stage, r.kind, name, nil), build(r.stage, r.kind, name, nil)
	key := client.ObjectKeyFromObject(live)
	if err := r.stage.Admin.Get(ctx, key, live); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		err := r.cache().Get(ctx, key, cached)
		return err == nil && cached.GetResourceVersion() == live.GetResourceVersion(), client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("waiting until the cache has the newest version of ConfigMap %s: %w", name, err)
	}
	return nil
}

// Finish returns the number of polluted reads, of one read for each intent. A polluted read returns a value that the arm has put
// into the cached object, but that the API server has not stored.
func (r *pollution) Finish(context.Context) (map[string]float64, error) {
	return map[string]float64{"polluted_reads": float64(r.polluted)}, nil
}
