package platform

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	after "coapply.dev/examples/dropin/after"
	before "coapply.dev/examples/dropin/before"
	"coapply.dev/test/kit"
)

// TestAdoptingChangesNothing runs the controller of docs/adopting.md before and after the
// change: the new binary finds all as the old one left it, and applies nothing.
func TestAdoptingChangesNothing(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	shop := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", Labels: map[string]string{"example.com/shop": "web"}},
		Data:       map[string]string{"image": "registry.example.com/shop:1"},
	}
	if err := c.Create(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	var deployment appsv1.Deployment
	image := func() string {
		err := c.Get(t.Context(), client.ObjectKeyFromObject(shop), &deployment)
		if apierrors.IsNotFound(err) {
			return "none"
		}
		if err != nil {
			t.Fatal(err)
		}
		return deployment.Spec.Template.Spec.Containers[0].Image
	}
	run := func(program func(context.Context, *rest.Config, ctrl.Options) error) (applies func() int, stop func()) {
		recorder := &kit.Recorder{}
		restConfig := rest.CopyConfig(kit.Server(t))
		restConfig.Wrap(recorder.Wrap)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- program(ctx, restConfig, ctrl.Options{
				Metrics:    metricsserver.Options{BindAddress: "0"},
				Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
				Controller: config.Controller{SkipNameValidation: new(true)},
			})
		}()
		return func() int { return recorder.Count(kit.Request{Verb: "apply"}) }, func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("the program ended with %v", err)
			}
		}
	}
	waitForImage := func(want string) {
		t.Helper()
		kit.WaitFor(t, want, func() string {
			if got := image(); got != want {
				return fmt.Sprint("the image is ", got)
			}
			return ""
		})
	}

	_, stop := run(before.Run)
	waitForImage("registry.example.com/shop:1")
	stop()

	version := deployment.ResourceVersion
	reconciled := func() float64 { return counterOf(t, "controller_runtime_reconcile_total", "shop") }
	applies, stop := run(after.Run)
	var sent int
	rounds := 0
	kit.WaitFor(t, "a reconcile of the new binary sends nothing", func() string {
		start, before := reconciled(), applies()
		touch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/round":"%d"}}}`, rounds))
		rounds++
		if err := c.Patch(t.Context(), shop, touch); err != nil {
			t.Fatal(err)
		}
		kit.WaitFor(t, "the new binary has looked", func() string {
			if reconciled() == start {
				return "not yet"
			}
			return ""
		})
		if sent = applies(); sent != before { // an apply waits a second for the schema; on a busy machine it is then sent
			return fmt.Sprintf("%d applies in round %d", sent-before, rounds)
		}
		return ""
	})
	if image(); deployment.ResourceVersion != version {
		t.Errorf("resourceVersion %s became %s; want nothing changed", version, deployment.ResourceVersion)
	}
	change := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"image":"registry.example.com/shop:2"}}`))
	if err := c.Patch(t.Context(), shop, change); err != nil {
		t.Fatal(err)
	}
	waitForImage("registry.example.com/shop:2")
	stop() // an apply is counted when its answer begins, and the server has it before
	if n := applies() - sent; n != 1 {
		t.Errorf("%d applies for one change", n)
	}
}
