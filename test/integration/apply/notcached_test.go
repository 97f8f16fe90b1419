package apply

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/test/kit"
)

// TestObjectsThatTheCacheDoesNotHold: the manager's cache has no informer for the kind or for the
// namespace. An intent that depends on the live object is then applied after a live read.
func TestObjectsThatTheCacheDoesNotHold(t *testing.T) {
	live := kit.NewClient(t, kit.Server(t))
	namespace, other := kit.NewNamespace(t, live), kit.NewNamespace(t, live)
	for reason, options := range map[string]cache.Options{
		"no informer of the kind":    {ReaderFailOnMissingInformer: true},
		"none in the namespace":      {DefaultNamespaces: map[string]cache.Config{other: {}}},
		"none in several namespaces": {DefaultNamespaces: map[string]cache.Config{other: {}, "default": {}}},
	} {
		mgr := newDropInManager(t, kit.Server(t), func(o *ctrl.Options) { o.Cache, o.Client = options, client.Options{} })
		applytest.StartManager(t, mgr)
		applier, err := apply.New(mgr.GetClient(), apply.Config{FieldManager: "us", LiveReader: mgr.GetAPIReader()})
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint("a-", len(reason))
		config := corev1ac.ConfigMap(name, namespace).WithData(map[string]string{"a": "1"})
		mine := func(object client.Object) bool { return object.GetName() == name }
		for _, intent := range []apply.Intent{{Config: config, Belongs: mine}, {Config: config, Belongs: mine}, {Config: config, MustExist: true}} {
			if outcome, err := applier.Apply(t.Context(), intent); err != nil || outcome.Action == apply.Absent {
				t.Errorf("%s: %v, %v", reason, outcome, err)
			}
		}
		strange := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-strange"}}
		if err := live.Create(t.Context(), strange); err != nil {
			t.Fatal(err)
		}
		_, err = applier.Apply(t.Context(), apply.Intent{Config: corev1ac.ConfigMap(strange.Name, namespace), Belongs: mine})
		if !errors.Is(err, apply.ErrNotOurs) {
			t.Errorf("%s: %v, want someone else's", reason, err)
		}
	}
}

// TestClientSideRateLimit: client-go's rate limiter ends a call at once if the call would exceed
// its deadline. No request is sent, and the API server refuses nothing.
func TestClientSideRateLimit(t *testing.T) {
	live := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, live)
	config := rest.CopyConfig(kit.Server(t))
	config.QPS, config.Burst = 0.0001, 1
	limited, err := client.New(config, client.Options{Scheme: kit.Scheme, Mapper: live.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	applier, err := apply.New(limited, apply.Config{FieldManager: "us", LiveReader: live})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), kit.Patience)
	defer cancel()
	intent := apply.Intent{Config: corev1ac.ConfigMap("a", namespace)}
	if _, err := applier.Apply(ctx, intent); err != nil {
		t.Fatal(err)
	}
	if _, err := applier.Apply(ctx, intent); !errors.Is(err, apply.ErrRetryable) || ctx.Err() != nil {
		t.Errorf("%s: %v, want it retryable", apply.ResultOf(err), err)
	}
}
