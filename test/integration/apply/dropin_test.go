package apply

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// TestDropIn: the drop-in client behaves like client.Apply with the default options of a manager.
func TestDropIn(t *testing.T) {
	t.Parallel()
	for _, arm := range []struct {
		name string
		ours bool
	}{{"client.Apply", false}, {"coapply", true}} {
		d := startDropIn(t, arm.ours, apply.Policy{})
		for _, behaviour := range slices.Concat(dropInBehaviours, dropInPatches) {
			t.Run(arm.name+"/"+behaviour.what, func(t *testing.T) {
				own := *d
				own.namespace = kit.NewNamespace(t, d.live)
				behaviour.test(t, &own)
			})
		}
	}
}

// TestDropInAnswers: where nothing was sent, the configuration holds what client.Apply would
// have answered, to the byte of its JSON.
func TestDropInAnswers(t *testing.T) {
	t.Parallel()
	ours := startDropIn(t, true, apply.Policy{})
	plain := startDropIn(t, false, apply.Policy{})
	for _, test := range []struct {
		what   string
		config func() runtime.ApplyConfiguration
	}{
		{"typed", func() runtime.ApplyConfiguration { return kit.Shop("web", ours.namespace) }},
		{"unstructured", func() runtime.ApplyConfiguration { config, _ := ours.pageOf(); return config }},
	} {
		ours.settle(t, test.config)
		got, want := test.config(), test.config()
		ours.recorder.Reset()
		ours.mustApply(t, got)
		if n := ours.applies(); n != 0 {
			t.Errorf("%s: %d applies; want none", test.what, n)
		}
		plain.mustApply(t, want)
		if diff := cmp.Diff(configJSON(t, want), configJSON(t, got)); diff != "" {
			t.Errorf("%s: -client.Apply +coapply\n%s", test.what, diff)
		}
	}
}

// TestDropInConflict: the error names the field, both values and the owner, and is
// client.Apply's to the rest of the code.
func TestDropInConflict(t *testing.T) {
	t.Parallel()
	d := startDropIn(t, true, apply.Policy{})
	d.ownedByOther(t)
	for _, options := range [][]client.ApplyOption{nil, {client.DryRunAll}} {
		err := d.Apply(t.Context(), d.page().WithData(map[string]string{"a": "ours"}), options...)
		conflict, ok := errors.AsType[*apply.ConflictError](err)
		if !ok || len(conflict.Conflicts) != 1 || conflict.Conflicts[0].Ours != "ours" || conflict.Conflicts[0].Theirs != "theirs" {
			t.Fatalf("%v: %+v", options, err)
		}
		for _, part := range []string{"ConfigMap " + d.namespace + "/page", dropInManager, ".data.a", `"ours"`, `"theirs"`, "other"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v: no %s in %q", options, part, err)
			}
		}
	}
}

// TestDropInPolicy: what the policy gives way in is left alone, costs nothing from then on,
// and is seen by a dry run.
func TestDropInPolicy(t *testing.T) {
	t.Parallel()
	d := startDropIn(t, true, apply.OnConflict(apply.Relinquish))
	d.ownedByOther(t)
	wanted := map[string]string{"a": "ours", "b": "new"}
	both := map[string]string{"a": "theirs", "b": "new"}
	for _, options := range [][]client.ApplyOption{{client.DryRunAll}, nil} {
		config := d.page().WithData(wanted)
		d.mustApply(t, config, options...)
		if !cmp.Equal(config.Data, both) {
			t.Errorf("%v: the answer is %v", options, config.Data)
		}
	}
	d.settle(t, func() runtime.ApplyConfiguration { return d.page().WithData(wanted) })
	d.recorder.Reset()
	config := d.page().WithData(wanted)
	d.mustApply(t, config)
	if n := d.applies(); n != 0 || !cmp.Equal(config.Data, both) {
		t.Errorf("%d applies; want none; the answer is %v", n, config.Data)
	}
}

// TestDropInStripped: a cache without managed fields is refused, whichever option takes them.
func TestDropInStripped(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		option string
		set    func(*cache.Options)
	}{
		{"DefaultTransform", func(o *cache.Options) { o.DefaultTransform = cache.TransformStripManagedFields() }},
		{"ByObject", func(o *cache.Options) {
			o.ByObject = map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {Transform: cache.TransformStripManagedFields()}}
		}},
	} {
		t.Run(test.option, func(t *testing.T) {
			d := startDropIn(t, true, apply.Policy{}, func(o *ctrl.Options) { test.set(&o.Cache) })
			d.mustApply(t, d.page().WithData(map[string]string{"a": "0"})) // nothing is in the cache yet
			kit.WaitFor(t, "an apply is refused, as soon as the cache has the object and the schema is known", func() string {
				if err := d.Apply(t.Context(), d.page().WithData(map[string]string{"a": "0"})); err == nil {
					return "it was not refused"
				}
				return ""
			})
			before := get(t, d, "page", &corev1.ConfigMap{}).ResourceVersion
			err := d.Apply(t.Context(), d.page().WithData(map[string]string{"a": "1"}))
			for _, part := range []string{"strips managed fields", "cache.Options.DefaultTransform", "cache.Options.ByObject[].Transform", "cache.TransformStripManagedFields"} {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("no %s in %v", part, err)
				}
			}
			if after := get(t, d, "page", &corev1.ConfigMap{}).ResourceVersion; after != before {
				t.Error("it was applied")
			}
		})
	}
}
