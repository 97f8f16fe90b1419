package workloads

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/compare"
)

// licenseFinalizer is one list, a set to Server-Side Apply, in which each controller has one item.
func licenseFinalizer() compare.Workload {
	return compare.Workload{
		Name: "license-finalizer",
		Summary: "controllers that each keep one finalizer of theirs on an object (a ConfigMap stands in for the License): " +
			"it is replaced by a new one, then ensured, which finds it there",
		Claims: []compare.Claim{
			{Text: "a finalizer is ensured before anything else; one that is there already writes nothing"},
			{
				Text:    "a closure that replaces the list loses the finalizers of others without any 409",
				Measure: "lost_updates", Arm: "gmu-replace",
			},
		},
		Defaults: compare.Parameters{
			Writers: 8, Objects: 1, Managers: 8, Warmup: 500 * time.Millisecond, Duration: 2500 * time.Millisecond,
		},
		Arms:    []string{"gmu-default-retry", "gmu-requeue", "gmu-unbounded", "gmu-lanes", "gmu-replace", "patch-lock", "update", "ssa", "ssa-lanes", "apply"},
		Prepare: prepareLicense,
	}
}

type license struct{ configMaps }

func prepareLicense(ctx context.Context, stage compare.Stage) (compare.Run, error) {
	r := license{newConfigMaps(stage)}
	none := func() map[string]any { return nil }
	return r, r.objects.prepare(ctx, none, func(ctx context.Context, name string) error {
		for j := range stage.Managers {
			finalizers := []any{finalizersOf(j) + "start"}
			fields := map[string]any{"metadata": map[string]any{"finalizers": finalizers}}
			if err := own(ctx, stage, r.kind, name, "", managerName(j), fields); err != nil {
				return err
			}
		}
		return nil
	})
}

// finalizersOf begins the finalizers of the j-th manager.
func finalizersOf(j int) string { return domain + managerName(j) + "-" }

// finalizerField is the tracked field of the manager's finalizer, whose value is what follows finalizersOf.
func finalizerField(manager string) string { return "finalizer/" + manager }

// Next replaces the writer's finalizer, and wants the same again the next time. That is no write for arms that compare,
// unless the first did not land; its value is the one that is not unique.
func (r license) Next(_ context.Context, writer, sequence int) (compare.Intent, bool, error) {
	pair := sequence / 2
	j, value := r.manager(writer), uniqueValue(writer, 2*pair)
	finalizer := finalizersOf(j) + value

	intent := r.intent(writer, pair)
	intent.Sequence = sequence
	intent.Wants = map[string]string{finalizerField(intent.Manager): value}
	intent.Modify = func(object *unstructured.Unstructured) error {
		replaceFinalizer(object, finalizersOf(j), finalizer)
		return nil
	}
	intent.Configure = configured(intent.Modify)
	intent.Replace = func(object *unstructured.Unstructured) error {
		object.SetFinalizers([]string{finalizer})
		return nil
	}
	return intent, true, nil
}

// replaceFinalizer puts a finalizer where the first with the prefix stands, and takes away the others with it.
func replaceFinalizer(object *unstructured.Unstructured, prefix, finalizer string) {
	old := object.GetFinalizers()
	others := slices.DeleteFunc(slices.Clone(old), func(f string) bool { return strings.HasPrefix(f, prefix) })
	at := slices.IndexFunc(old, func(f string) bool { return strings.HasPrefix(f, prefix) })
	if at < 0 {
		at = len(others)
	}
	object.SetFinalizers(slices.Insert(others, at, finalizer))
}

// Fields has one field for each manager with a finalizer. Should there be several, the value is all of them, which no
// intent wants.
func (r license) Fields(object *unstructured.Unstructured) map[string]string {
	if !r.mine(object) {
		return nil
	}
	fields := map[string]string{}
	for _, finalizer := range slices.Sorted(slices.Values(object.GetFinalizers())) {
		manager, value, ours := strings.Cut(strings.TrimPrefix(finalizer, domain), "-")
		if !ours || !strings.HasPrefix(finalizer, domain) {
			continue
		}
		field := finalizerField(manager)
		if several, found := fields[field]; found {
			value = several + "," + value
		}
		fields[field] = value
	}
	return fields
}
