package steady

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/apply/update"
	"coapply.dev/test/kit"
)

var dropsFinalizers = kit.Mutation{
	Name: "drops-finalizers",
	Constraints: `{objectSelector: {matchLabels: {drops-finalizers: "yes"}},
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [configmaps]}]}`,
	When:  "has(object.metadata.finalizers)",
	Patch: "[JSONPatch{op: 'remove', path: '/metadata/finalizers'}, JSONPatch{op: 'add', path: '/data', value: {'last': oldObject.metadata.resourceVersion}}]",
}

// TestFinalizerDroppedByAdmission: admission that takes our finalizer off, and changes
// something else each time, is an error of the reconcile: nothing is emitted, and the
// queue waits longer each time.
func TestFinalizerDroppedByAdmission(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, steadyConfig(t))
	kit.NeedPolicies(t, c, dropsFinalizers)
	parent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: kit.NewNamespace(t, c), Name: "parent", Labels: map[string]string{"drops-finalizers": "yes"}}}
	if err := c.Create(t.Context(), parent); err != nil {
		t.Fatal(err)
	}
	kit.WaitFor(t, "the policy is in force", func() string {
		probe := parent.DeepCopy()
		probe.Finalizers = []string{kit.NarrowFinalizer}
		if err := c.Update(t.Context(), probe, client.DryRunAll); err != nil {
			return err.Error()
		}
		if len(probe.Finalizers) > 0 {
			return "it is not"
		}
		return ""
	})
	var emitted atomic.Int32
	updater, err := update.New(update.Config{Client: c, LiveReader: c, FieldManager: kit.OurManager})
	if err != nil {
		t.Fatal(err)
	}
	r, err := reconciler.New(reconciler.Config[*corev1.ConfigMap]{
		Client: c, Applier: kit.NewApplier(t, c, kit.OurManager, apply.Policy{}), Updater: updater, Finalizer: kit.NarrowFinalizer,
		Cleanup: func(context.Context, *corev1.ConfigMap) (bool, error) { return true, nil },
		Emit: func(parent *corev1.ConfigMap) ([]apply.Intent, error) {
			emitted.Add(1)
			return []apply.Intent{{Config: corev1ac.ConfigMap("child", parent.Namespace)}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(parent)})
		if !errors.Is(err, update.ErrFinalizerDropped) || result != (reconcile.Result{}) || !strings.Contains(err.Error(), kit.NarrowFinalizer) {
			t.Errorf("%+v, %v; want an error that names the finalizer, for the queue's rate limiter", result, err)
		}
	}
	if n := emitted.Load(); n > 0 {
		t.Errorf("emitted %d times without a finalizer", n)
	}
}
