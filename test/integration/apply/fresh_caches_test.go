package apply

import (
	"net/http"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	autoscalingv1ac "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/test/kit"
)

// TestForRevertsChangesOfMetadataWatch: a controller of For with a metadata-only watch of its
// children reverts a manual change, although the typed informer is behind the event.
func TestForRevertsChangesOfMetadataWatch(t *testing.T) {
	t.Parallel()
	recorder := &kit.Recorder{}
	restConfig, gate := laggingConfig(t, recorder)
	live := kit.NewClient(t, kit.Server(t))
	d := &dropIn{live: live, namespace: kit.NewNamespace(t, live), recorder: recorder}
	mgr := newDropInManager(t, restConfig)
	rt, err := coapply.New(mgr)
	if err != nil {
		t.Fatal(err)
	}
	emit := func(parent *corev1.ServiceAccount) ([]apply.Intent, error) {
		if parent.Namespace != d.namespace || parent.Name != "parent" {
			return nil, nil
		}
		return []apply.Intent{{Config: corev1ac.ConfigMap("page", d.namespace).WithData(map[string]string{"title": "ours"}).
			WithOwnerReferences(coapply.OwnedBy(parent, corev1.SchemeGroupVersion.WithKind("ServiceAccount")))}}, nil
	}
	err = coapply.For(rt, "fresh-for", emit).Owns(&corev1.ConfigMap{}, builder.OnlyMetadata).
		OnConflict(apply.OnConflict(apply.Force)).Named("fresh-for").Complete()
	if err != nil {
		t.Fatal(err)
	}
	applytest.StartManager(t, mgr)
	parent := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: "parent"}}
	if err := live.Create(t.Context(), parent); err != nil {
		t.Fatal(err)
	}
	title := func(want string) {
		t.Helper()
		kit.WaitFor(t, "the title "+want, func() string {
			if page := get(t, d, "page", &corev1.ConfigMap{}); page == nil || page.Data["title"] != want {
				return "it is not there"
			}
			return ""
		})
	}
	title("ours")
	kit.WaitFor(t, "the typed informer has it", func() string {
		if err := mgr.GetCache().Get(t.Context(), client.ObjectKey{Namespace: d.namespace, Name: "page"}, &corev1.ConfigMap{}); err != nil {
			return err.Error()
		}
		return ""
	})
	gate.Close()
	changed := get(t, d, "page", &corev1.ConfigMap{})
	changed.Data["title"] = "by hand"
	if err := live.Update(t.Context(), changed, client.FieldOwner("somebody")); err != nil {
		t.Fatal(err)
	}
	title("ours")
}

// TestAlsoWatched: New cannot detect a certain cache, which is ahead of the manager's cache. An
// apply reverts a change only if AlsoWatched names that cache.
func TestAlsoWatched(t *testing.T) {
	t.Parallel()
	for _, named := range []bool{true, false} {
		restConfig, gate := laggingConfig(t, &kit.Recorder{})
		live := kit.NewClient(t, kit.Server(t))
		d := &dropIn{live: live, namespace: kit.NewNamespace(t, live), recorder: &kit.Recorder{}}
		restConfig.Wrap(d.recorder.Wrap)
		other := kit.StartCache(t, kit.Server(t), cache.Options{})
		mgr := newDropInManager(t, restConfig)
		var options []coapply.Option
		if named {
			options = append(options, coapply.AlsoWatched(other, &corev1.ConfigMap{}))
		}
		rt, err := coapply.New(mgr, options...)
		if err != nil {
			t.Fatal(err)
		}
		d.Client = rt.Client(dropInManager, apply.OnConflict(apply.Force))
		applytest.StartManager(t, mgr)
		page := func() runtime.ApplyConfiguration { return d.page().WithData(map[string]string{"title": "ours"}) }
		d.settle(t, page)
		gate.Close()
		changed := get(t, d, "page", &corev1.ConfigMap{})
		changed.Data["title"] = "by hand"
		if err := live.Update(t.Context(), changed, client.FieldOwner("somebody")); err != nil {
			t.Fatal(err)
		}
		kit.WaitFor(t, "the other cache shows the change", func() string {
			var seen corev1.ConfigMap
			if err := other.Get(t.Context(), client.ObjectKeyFromObject(changed), &seen); err != nil || seen.Data["title"] != "by hand" {
				return "it does not"
			}
			return ""
		})
		d.mustApply(t, page())
		if reverted := get(t, d, "page", &corev1.ConfigMap{}).Data["title"] == "ours"; reverted != named {
			t.Errorf("AlsoWatched names the cache: %v, the change is reverted: %v", named, reverted)
		}
	}
}

// TestInformerOfAnotherVersion: an apply of autoscaling/v1 reverts a change that so far only the
// informer of autoscaling/v2 shows.
func TestInformerOfAnotherVersion(t *testing.T) {
	t.Parallel()
	gate := &kit.WatchGate{Holds: func(r *http.Request) bool {
		return kit.IsWatch(r, "horizontalpodautoscalers") && strings.Contains(r.URL.Path, "/autoscaling/v1/")
	}}
	restConfig := rest.CopyConfig(kit.Server(t))
	gate.Wrap(restConfig)
	t.Cleanup(gate.Open)
	live := kit.NewClient(t, kit.Server(t))
	d := &dropIn{live: live, namespace: kit.NewNamespace(t, live), recorder: &kit.Recorder{}}
	restConfig.Wrap(d.recorder.Wrap)
	mgr := newDropInManager(t, restConfig)
	rt, err := coapply.New(mgr)
	if err != nil {
		t.Fatal(err)
	}
	d.Client = rt.Client(dropInManager, apply.OnConflict(apply.Force))
	applytest.StartManager(t, mgr)
	if _, err := mgr.GetCache().GetInformer(t.Context(), &autoscalingv2.HorizontalPodAutoscaler{}); err != nil {
		t.Fatal(err)
	}
	scaler := func() runtime.ApplyConfiguration {
		return autoscalingv1ac.HorizontalPodAutoscaler("web", d.namespace).WithSpec(autoscalingv1ac.HorizontalPodAutoscalerSpec().
			WithMaxReplicas(3).WithScaleTargetRef(autoscalingv1ac.CrossVersionObjectReference().WithAPIVersion("apps/v1").WithKind("Deployment").WithName("web")))
	}
	d.settle(t, scaler)
	gate.Close()
	changed := get(t, d, "web", &autoscalingv1.HorizontalPodAutoscaler{})
	changed.Spec.MaxReplicas = 7
	if err := live.Update(t.Context(), changed, client.FieldOwner("somebody")); err != nil {
		t.Fatal(err)
	}
	kit.WaitFor(t, "the informer of v2 shows the change", func() string {
		var seen autoscalingv2.HorizontalPodAutoscaler
		if err := mgr.GetCache().Get(t.Context(), client.ObjectKeyFromObject(changed), &seen); err != nil || seen.Spec.MaxReplicas != 7 {
			return "it does not"
		}
		return ""
	})
	d.mustApply(t, scaler())
	if got := get(t, d, "web", &autoscalingv1.HorizontalPodAutoscaler{}).Spec.MaxReplicas; got != 3 {
		t.Errorf("Apply returned nil, and maxReplicas is %d", got)
	}
}
