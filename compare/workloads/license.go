package workloads

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/compare"
)

// licenseFinalizer is a workload in which several controllers write to the list of finalizers of an object. Each of
// them keeps one finalizer in the list. Server-Side Apply treats this list as a set.
func licenseFinalizer() compare.Workload {
	return compare.Workload{
		Name: "license-finalizer",
		Summary: "controllers that each keep their own finalizer on one object (a ConfigMap instead of a License): " +
			"each controller replaces its finalizer by a new one, and then ensures the new finalizer, which exists already",
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

// finalizersOf returns the prefix of the finalizers of the j-th manager.
func finalizersOf(j int) string { return domain + managerName(j) + "-" }

// finalizerField returns the name of the tracked field for the finalizer of a manager. The value of the field is the
// finalizer without the prefix.
func finalizerField(manager string) string { return "finalizer/" + manager }

// Next returns each intent twice. For an even sequence, the intent replaces the writer's finalizer. For the odd
// sequence after it, Next returns the same intent. An arm that compares before it writes then sends nothing, unless
// the first intent failed.
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

// replaceFinalizer replaces the finalizer that has the prefix by another finalizer, at the same position of the
// list. If several have the prefix, the others are removed.
func replaceFinalizer(object *unstructured.Unstructured, prefix, finalizer string) {
	old := object.GetFinalizers()
	others := slices.DeleteFunc(slices.Clone(old), func(f string) bool { return strings.HasPrefix(f, prefix) })
	at := slices.IndexFunc(old, func(f string) bool { return strings.HasPrefix(f, prefix) })
	if at < 0 {
		at = len(others)
	}
	object.SetFinalizers(slices.Insert(others, at, finalizer))
}

// Fields implements compare.Run. There is one tracked field for each manager that has a finalizer. If a manager has
// several finalizers, the value is a comma-separated list, which is never the value of an intent.
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
