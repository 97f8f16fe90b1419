package workloads

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	ofKind

	looks, polluted int
}

func preparePollution(ctx context.Context, stage compare.Stage) (compare.Run, error) {
	kind := compare.Kind{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Resource: "configmaps"}
	r := &pollution{ofKind: ofKind{stage, kind}}
	for i := range stage.Objects {
		intent := r.intent(-1, i)
		stage.Note(intent)
		if err := own(ctx, stage, r.kind, intent.Name, "", intent.Manager, intent.Configure(nil)); err != nil {
			return r, err
		}
	}
	return r, nil
}

const pollutionField = "wanted"

func (r *pollution) intent(sequence, object int) compare.Intent {
	value := uniqueValue(0, sequence) + "-" + fmt.Sprint(object)
	modify := func(o *unstructured.Unstructured) error {
		return unstructured.SetNestedField(o.Object, value, "data", pollutionField)
	}
	return compare.Intent{
		Sequence: sequence, Kind: r.kind.GroupVersionKind,
		Namespace: r.stage.Namespace, Name: inTrial(r.stage, fmt.Sprintf("cached-%d", object)), Manager: managerName(0),
		Wants:     map[string]string{pollutionField: value},
		Configure: configured(modify), Modify: modify,
	}
}

// Next returns an intent in which another client writes to the object just before the arm's first write. If the arm
// applies, the other client writes in Intent.Pause, before the apply. Otherwise, the other client writes in
// Intent.Modify, after the arm has changed the object in its memory. The arm's first update is then stale.
func (r *pollution) Next(ctx context.Context, _, sequence int) (compare.Intent, bool, error) {
	if r.over(sequence) {
		return compare.Intent{}, false, nil
	}
	intent := r.intent(sequence, sequence%r.stage.Objects)
	if err := r.waitCache(ctx, intent); err != nil {
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
// value. Then it writes to the object twice, as another controller would. After the second write, the cache (if any)
// contains a new object, which the arm does not hold.
func (r *pollution) disturb(ctx context.Context, intent compare.Intent) error {
	if cache := r.cache(); cache != nil {
		o := build(r.stage, r.kind, intent.Name, nil)
		if err := cache.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return fmt.Errorf("reading the object from the cache: %w", err)
		}
		r.looks++
		if r.Fields(o)[pollutionField] == intent.Wants[pollutionField] {
			r.polluted++
		}
	}
	for i := range 2 {
		patch := fmt.Appendf(nil, `{"data":{"foreign":"%s-%d"}}`, intent.Wants[pollutionField], i)
		o := build(r.stage, r.kind, intent.Name, nil)
		if err := r.stage.Admin.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch), client.FieldOwner("foreign")); err != nil {
			return fmt.Errorf("writing as the field manager \"foreign\": %w", err)
		}
	}
	return r.waitCache(ctx, intent)
}

func (r *pollution) cache() client.Reader {
	if r.stage.Cache == nil {
		return nil
	}
	return r.stage.Cache()
}

const cachePatience = 30 * time.Second

// waitCache waits until the cache has the same version of the object as the API server.
func (r *pollution) waitCache(ctx context.Context, intent compare.Intent) error {
	if r.cache() == nil {
		return nil
	}
	live, cached := build(r.stage, r.kind, intent.Name, nil), build(r.stage, r.kind, intent.Name, nil)
	key := client.ObjectKeyFromObject(live)
	if err := r.stage.Admin.Get(ctx, key, live); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, time.Millisecond, cachePatience, true, func(ctx context.Context) (bool, error) {
		err := r.cache().Get(ctx, key, cached)
		return err == nil && cached.GetResourceVersion() == live.GetResourceVersion(), client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("waiting until the cache has the newest version of ConfigMap %s: %w", intent.Name, err)
	}
	return nil
}

func (r *pollution) Fields(o *unstructured.Unstructured) map[string]string {
	if !r.has(o, "cached-") {
		return nil
	}
	fields := map[string]string{}
	if value, found, _ := unstructured.NestedString(o.Object, "data", pollutionField); found {
		fields[pollutionField] = value
	}
	return fields
}

// Finish returns the number of polluted reads, and their share of all reads from the cache. A polluted read returns a
// value that the arm has put into the cached object, but that the API server has not stored.
func (r *pollution) Finish(context.Context) (map[string]float64, error) {
	if r.looks == 0 {
		return nil, nil // the trial has no cache
	}
	return map[string]float64{
		"polluted_reads":            float64(r.polluted),
		"polluted_reads_per_intent": float64(r.polluted) / float64(r.looks),
	}, nil
}
