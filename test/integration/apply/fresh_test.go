package apply

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/apply/update"
	"coapply.dev/test/kit"
)

// laggingConfig returns a configuration of a manager whose typed informer of ConfigMaps is
// behind the API server while the gate is closed. Informers of metadata are never behind.
func laggingConfig(t *testing.T, recorder *kit.Recorder) (*rest.Config, *kit.WatchGate) {
	t.Helper()
	gate := &kit.WatchGate{Holds: func(r *http.Request) bool { return kit.IsWatch(r, "configmaps") && !kit.IsMetadataWatch(r) }}
	restConfig := rest.CopyConfig(kit.Server(t))
	gate.Wrap(restConfig)
	restConfig.Wrap(recorder.Wrap)
	t.Cleanup(gate.Open)
	return restConfig, gate
}

// TestMetadataWatchRevertsChanges: a controller with a metadata-only watch reverts each manual
// change. The typed informer is behind the event, and shows the object as it was applied. Applies
// without a preceding event send no request. Each change has its own object, because a forced
// field that is undone again and again is rejected for some time.
func TestMetadataWatchRevertsChanges(t *testing.T) {
	t.Parallel()
	const changes = 20
	recorder := &kit.Recorder{}
	restConfig, gate := laggingConfig(t, recorder)
	live := kit.NewClient(t, kit.Server(t))
	d := &dropIn{live: live, namespace: kit.NewNamespace(t, live), recorder: recorder}
	mgr := newDropInManager(t, restConfig)
	rt, err := coapply.New(mgr)
	if err != nil {
		t.Fatal(err)
	}
	d.Client = rt.Client(dropInManager, apply.OnConflict(apply.Force))
	page := func(name string) runtime.ApplyConfiguration {
		return corev1ac.ConfigMap(name, d.namespace).WithData(map[string]string{"title": "ours"})
	}
	err = ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}, builder.OnlyMetadata).
		Complete(reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
			if request.Namespace != d.namespace || !strings.HasPrefix(request.Name, "page") {
				return ctrl.Result{}, nil
			}
			return ctrl.Result{}, d.Apply(ctx, page(request.Name))
		}))
	if err != nil {
		t.Fatal(err)
	}
	applytest.StartManager(t, mgr)
	for i := range changes {
		d.settle(t, func() runtime.ApplyConfiguration { return page(fmt.Sprint("page-", i)) })
	}
	recorder.Reset()
	for i := range changes {
		d.mustApply(t, page(fmt.Sprint("page-", i)))
	}
	if n := len(recorder.Requests()); n != 0 {
		t.Errorf("%d applies that nothing woke cost %d requests", changes, n)
	}
	gate.Close()
	for i := range changes {
		name := fmt.Sprint("page-", i)
		changed := get(t, d, name, &corev1.ConfigMap{})
		changed.Data["title"] = "by hand"
		if err := live.Update(t.Context(), changed, client.FieldOwner("somebody")); err != nil {
			t.Fatal(err)
		}
		kit.WaitFor(t, name+" is reverted", func() string {
			if title := get(t, d, name, &corev1.ConfigMap{}).Data["title"]; title != "ours" {
				return "the title is " + title
			}
			return ""
		})
	}
}

// TestOwnWritesInvalidate: after a write of the drop-in client, an apply is sent, although the
// cached object from before the write would prove that apply a no-op.
func TestOwnWritesInvalidate(t *testing.T) {
	t.Parallel()
	recorder := &kit.Recorder{}
	restConfig, gate := laggingConfig(t, recorder)
	live := kit.NewClient(t, kit.Server(t))
	mgr := newDropInManager(t, restConfig)
	rt, err := coapply.New(mgr)
	if err != nil {
		t.Fatal(err)
	}
	applytest.StartManager(t, mgr)
	d := &dropIn{Client: rt.Client(dropInManager, apply.OnConflict(apply.Force)), live: live, recorder: recorder}
	second := rt.Client("second", apply.Policy{})
	data := func(value string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: "page"}, Data: map[string]string{"a": value}}
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"a":"2"}}`))
	for _, write := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"Delete", func(ctx context.Context) error { return d.Delete(ctx, data("")) }},
		{"DeleteAllOf", func(ctx context.Context) error {
			return d.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(d.namespace))
		}},
		{"Patch", func(ctx context.Context) error { return d.Patch(ctx, data(""), patch) }},
		{"Update", func(ctx context.Context) error { return d.Update(ctx, data("2")) }},
		{"Delete, then Create", func(ctx context.Context) error {
			if err := d.Delete(ctx, data("")); err != nil {
				return err
			}
			return d.Create(ctx, data("2"))
		}},
		{"Patch of another client of the process", func(ctx context.Context) error { return second.Patch(ctx, data(""), patch) }},
		{"forced Apply of another client of the process", func(ctx context.Context) error {
			return second.Apply(ctx, corev1ac.ConfigMap("page", d.namespace).WithData(map[string]string{"a": "2"}), client.ForceOwnership)
		}},
		{"update.Updater", func(ctx context.Context) error { return updateData(ctx, rt, data("")) }},
	} {
		t.Run(write.what, func(t *testing.T) {
			d.namespace = kit.NewNamespace(t, live)
			page := func() runtime.ApplyConfiguration { return d.page().WithData(map[string]string{"a": "1"}) }
			d.settle(t, page)
			gate.Close()
			defer gate.Open()
			if err := write.do(t.Context()); err != nil {
				t.Fatal(err)
			}
			d.mustApply(t, page())
			if got := get(t, d, "page", &corev1.ConfigMap{}); got == nil || got.Data["a"] != "1" {
				t.Errorf("Apply returned nil, and the object is %v", got)
			}
			gate.Open()
			d.settle(t, page)
		})
	}
}

func updateData(ctx context.Context, rt *coapply.Runtime, page *corev1.ConfigMap) error {
	updater, err := rt.Updater("third")
	if err != nil {
		return err
	}
	_, err = update.Do(ctx, updater, page, func(page *corev1.ConfigMap) error {
		page.Data["a"] = "2"
		return nil
	})
	return err
}

// TestOwnStatusWritesInvalidate is the same for writes to the status.
func TestOwnStatusWritesInvalidate(t *testing.T) {
	t.Parallel()
	recorder := &kit.Recorder{}
	gate := &kit.WatchGate{Holds: func(r *http.Request) bool { return kit.IsWatch(r, "deployments") }}
	restConfig := rest.CopyConfig(kit.Server(t))
	gate.Wrap(restConfig)
	restConfig.Wrap(recorder.Wrap)
	live := kit.NewClient(t, kit.Server(t))
	mgr := newDropInManager(t, restConfig)
	rt, err := coapply.New(mgr)
	if err != nil {
		t.Fatal(err)
	}
	applytest.StartManager(t, mgr)
	d := &dropIn{Client: rt.Client(dropInManager, apply.OnConflict(apply.Force)), live: live, recorder: recorder}
	object := func() *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: "web"}}
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"observedGeneration":9}}`))
	for _, write := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"Status().Patch", func(ctx context.Context) error { return d.Status().Patch(ctx, object(), patch) }},
		{"Status().Update", func(ctx context.Context) error {
			deployment := get(t, d, "web", &appsv1.Deployment{})
			deployment.Status.ObservedGeneration = 9
			return d.Status().Update(ctx, deployment)
		}},
	} {
		t.Run(write.what, func(t *testing.T) {
			defer gate.Open()
			d.namespace = kit.NewNamespace(t, live)
			d.mustApply(t, kit.Shop("web", d.namespace))
			kit.WaitFor(t, "a status that costs no request", func() string {
				d.recorder.Reset()
				if err := d.Status().Apply(t.Context(), d.status(2)); err != nil {
					t.Fatal(err)
				}
				return map[bool]string{true: "it was sent"}[d.applies() > 0]
			})
			gate.Close()
			if err := write.do(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := d.Status().Apply(t.Context(), d.status(2)); err != nil {
				t.Fatal(err)
			}
			if got := get(t, d, "web", &appsv1.Deployment{}).Status.ObservedGeneration; got != 2 {
				t.Errorf("Apply returned nil, and observedGeneration is %d", got)
			}
		})
	}
}
