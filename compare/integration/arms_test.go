package compare

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/compare"
	"coapply.dev/compare/arms"
	recorded "coapply.dev/compare/history"
	"coapply.dev/test/kit"
)

// One after another every arm lands, says so truly, and keeps what the other manager wrote, but for two.
func TestCompareArmsLand(t *testing.T) {
	w := newArmWorld(t)
	for _, arm := range partArms() {
		w.configMap(t, arm.Name)
	}
	w = w.withCache(t)
	for _, arm := range partArms() {
		t.Run(arm.Name, func(t *testing.T) {
			writer, paused := w.writer(t, arm), 0
			for _, manager := range []string{"one", "two"} {
				intent := w.key(arm.Name, manager, manager, "1")
				intent.Pause = func(context.Context) error { paused++; return nil }
				receipt, err := writer.Write(t.Context(), intent)
				if err != nil {
					t.Fatal(err)
				}
				w.checkLanded(t, arm, intent, receipt)
			}
			if paused != 2 {
				t.Errorf("Pause was called %d times for 2 intents", paused)
			}
			want := map[string]string{"payload": "x", "one": "1", "two": "1"}
			switch arm.Name {
			case "gmu-replace":
				want = map[string]string{"two": "1"}
			case "shared-manager":
				delete(want, "one")
			}
			if got := w.data(t, arm.Name); !maps.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

func (w armWorld) data(t *testing.T, name string) map[string]string {
	t.Helper()
	var live corev1.ConfigMap
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &live); err != nil {
		t.Fatal(err)
	}
	return live.Data
}

// checkLanded compares a receipt with the object, and the field manager with that of the intent.
func (w armWorld) checkLanded(t *testing.T, arm compare.Arm, intent compare.Intent, receipt compare.Receipt) {
	t.Helper()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(intent.Kind)
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: intent.Name}, live); err != nil {
		t.Fatal(err)
	}
	if receipt.Skipped || receipt.ResourceVersion != live.GetResourceVersion() {
		t.Errorf("the receipt is %+v, the object is at %s", receipt, live.GetResourceVersion())
	}
	manager, operation := intent.Manager, metav1.ManagedFieldsOperationUpdate
	switch {
	case strings.HasPrefix(arm.Name, "ssa"), strings.HasPrefix(arm.Name, "apply"):
		operation = metav1.ManagedFieldsOperationApply
	case arm.Name == "shared-manager":
		manager, operation = "shared", metav1.ManagedFieldsOperationApply
	}
	for _, entry := range live.GetManagedFields() {
		if entry.Manager == manager && entry.Operation == operation && entry.Subresource == intent.Subresource {
			return
		}
	}
	t.Errorf("no entry of %s by %s in the managed fields: %v", manager, operation, live.GetManagedFields())
}

// Two that have both read before either writes.
func TestCompareArmsAtOnce(t *testing.T) {
	w := newArmWorld(t)
	for _, arm := range partArms() {
		w.configMap(t, arm.Name)
	}
	w = w.withCache(t)
	for _, arm := range partArms() {
		landed, kept := 2, 2
		switch arm.Name {
		case "naive":
			landed, kept = 1, 1
		case "gmu-replace", "put-no-rv", "shared-manager":
			kept = 1
		}
		t.Run(arm.Name, func(t *testing.T) {
			outcomes := atOnce(t, w.writer(t, arm), w.key(arm.Name, "one", "one", "1"), w.key(arm.Name, "two", "two", "1"))
			if outcomes[recorded.Landed] != landed || outcomes[recorded.GaveUp] != 2-landed {
				t.Errorf("%v, want %d landed and the rest given up", outcomes, landed)
			}
			data := w.data(t, arm.Name)
			delete(data, "payload")
			if len(data) != kept {
				t.Errorf("%v stand, want %d", data, kept)
			}
			if lost := landed > kept; arm.Control && !lost {
				t.Error("a negative control has to lose updates")
			}
		})
	}
}

// Two that both find no object.
func TestCompareArmsCreateAtOnce(t *testing.T) {
	w := newArmWorld(t).withCache(t)
	for _, arm := range partArms() {
		landed := 1 // AlreadyExists is no stale write
		switch {
		case strings.HasPrefix(arm.Name, "ssa") || strings.HasPrefix(arm.Name, "apply") || slices.Contains([]string{"gmu-requeue", "gmu-unbounded", "gmu-lanes", "shared-manager"}, arm.Name):
			landed = 2
		case arm.Name == "update": // the fallback creates nothing
			landed = 0
		}
		t.Run(arm.Name, func(t *testing.T) {
			one, two := w.key(arm.Name, "one", "one", "1"), w.key(arm.Name, "two", "two", "1")
			one.Creates, two.Creates = true, true
			outcomes := atOnce(t, w.writer(t, arm), one, two)
			if outcomes[recorded.Landed] != landed || outcomes[recorded.Failed] != 2-landed {
				t.Errorf("%v, want %d landed and the rest failed", outcomes, landed)
			}
		})
	}
}

// A field that another manager owns: an ownership conflict, which an update does not know.
func TestCompareArmsOwnershipConflict(t *testing.T) {
	w := newArmWorld(t).withCache(t)
	for name, want := range map[string]recorded.Outcome{
		"ssa": recorded.Rejected, "ssa-lanes": recorded.Rejected, "apply": recorded.Rejected,
		"naive": recorded.Landed, "update": recorded.Landed,
	} {
		w.configMap(t, name)
		if _, err := w.writer(t, armNamed(t, "ssa")).Write(t.Context(), w.key(name, "owner", "k", "1")); err != nil {
			t.Fatal(err)
		}
		_, err := w.writer(t, armNamed(t, name)).Write(t.Context(), w.key(name, "other", "k", "2"))
		if got := arms.Classify(err); got != want {
			t.Errorf("%s: %s, want %s (%v)", name, got, want, err)
		}
	}
}

// An intent that depends on what is there.
func TestCompareArmsReadLive(t *testing.T) {
	w := newArmWorld(t).withCache(t)
	for _, name := range []string{"ssa", "ssa-lanes", "apply", "shared-manager"} {
		w.configMap(t, name)
		intent := w.key(name, "one", "k", "1")
		intent.ReadsLive = true
		configure := intent.Configure
		var saw string
		intent.Configure = func(live *unstructured.Unstructured) map[string]any {
			saw, _, _ = unstructured.NestedString(live.Object, "data", "payload")
			return configure(live)
		}
		if _, err := w.writer(t, armNamed(t, name)).Write(t.Context(), intent); err != nil || saw != "x" {
			t.Errorf("%s: saw %q, error %v", name, saw, err)
		}
	}
}

// Through the status subresource.
func TestCompareArmsStatus(t *testing.T) {
	w := newArmWorld(t).withCache(t)
	status := func(name, manager, field string) compare.Intent {
		return compare.Intent{
			Kind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Namespace: w.namespace, Name: name,
			Manager: manager, Subresource: "status",
			Configure: func(*unstructured.Unstructured) map[string]any {
				return map[string]any{"status": map[string]any{field: int64(1)}}
			},
			Modify: func(live *unstructured.Unstructured) error {
				return unstructured.SetNestedField(live.Object, int64(1), "status", field)
			},
		}
	}
	for _, arm := range partArms() {
		if arm.Name == "gmu-replace" || arm.Name == "gmu-requeue" || arm.Control {
			continue
		}
		if _, err := kit.NewApplier(t, w.client, "spec", apply.Policy{}).Apply(t.Context(), apply.Intent{Config: kit.Deployment(arm.Name, w.namespace, "v1")}); err != nil {
			t.Fatal(err)
		}
		t.Run(arm.Name, func(t *testing.T) {
			writer := w.writer(t, arm)
			for manager, field := range map[string]string{"one": "observedGeneration", "two": "collisionCount"} {
				intent := status(arm.Name, manager, field)
				receipt, err := writer.Write(t.Context(), intent)
				if err != nil {
					t.Fatal(err)
				}
				w.checkLanded(t, arm, intent, receipt)
			}
			var live appsv1.Deployment
			if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: arm.Name}, &live); err != nil {
				t.Fatal(err)
			}
			if live.Status.ObservedGeneration != 1 || live.Status.CollisionCount == nil {
				t.Errorf("the status is %+v", live.Status)
			}
		})
	}
}
