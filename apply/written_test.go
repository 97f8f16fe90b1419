package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"coapply.dev/apply/internal/wire"
)

// TestMayHaveLanded: after some errors the apply may have been written all the same.
func TestMayHaveLanded(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"refused":       {apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, "web", errors.New("no")), false},
		"a stale write": {apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, "web", errors.New("changed")), false},
		"a lost answer": {apierrors.NewTimeoutError("no answer", 0), true},
		"etcd died":     {&apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Message: "rpc error: code = Unavailable desc = EOF"}}, true},
		"cancelled":     {context.Canceled, true},
		"out of time":   {context.DeadlineExceeded, true},
	} {
		if got := mayHaveLanded(Classify(t.Context(), ObjectRef{}, c.err)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestDryRunIsNoWrite: what a plan sends changes nothing that was read.
func TestDryRunIsNoWrite(t *testing.T) {
	cache := &shopCache{}
	a := newShopApplier(t, cache)
	cache.deployment = applied(t, a)
	wantSteady(t, a, Intent{Config: shop()}, true)
	_, call := a.begin(t.Context(), Intent{Config: shop()})
	call.dryRun = true
	if err := call.encode(); err != nil {
		t.Fatal(err)
	}
	attempt := call.sending()
	wantSteady(t, a, Intent{Config: shop()}, true)
	attempt.Landed(wire.Identity{UID: cache.deployment.UID, ResourceVersion: "2000"}, false, false)
	wantSteady(t, a, Intent{Config: shop()}, true)
}

func mustUnstructured(object any) map[string]any {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		panic(err)
	}
	return content
}

// TestOtherWrites: a cache that has not seen a delete of ours, or what we wrote by other means, is not
// believed either.
func TestOtherWrites(t *testing.T) {
	ref := ObjectRef{GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"), UID: "ab8ef7f6-2d0c-4d4e-b2ab-fdf7bf4d2b35"}
	ref.Namespace, ref.Name = "shop", "web"
	for name, write := range map[string]func(*Applier){
		"by other means": func(a *Applier) { a.config.Steady.Wrote(ref) },
	} {
		t.Run(name, func(t *testing.T) {
			cache := &shopCache{}
			a := newShopApplier(t, cache)
			cache.deployment = applied(t, a)
			wantSteady(t, a, Intent{Config: shop()}, true)
			write(a)
			wantSteady(t, a, Intent{Config: shop()}, false)
		})
	}
}

// TestLandedWriteIsBelieved: once the answer to a write is known, an object at its version is
// as good as before.
func TestLandedWriteIsBelieved(t *testing.T) {
	cache := &shopCache{}
	a := newShopApplier(t, cache)
	object, refusing := applied(t, a), a.client
	cache.deployment = object.DeepCopy()
	cache.deployment.ManagedFields = nil // so that it is sent
	a.client = interceptor.NewClient(refusing.(client.WithWatch), interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, config runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
			return json.Unmarshal(fmt.Appendf(nil, `{"metadata":{"uid":%q,"resourceVersion":"2000"}}`, object.UID), config)
		},
	})
	if outcome, err := a.Apply(t.Context(), Intent{Config: shop()}); err != nil || outcome.Action != Configured {
		t.Fatalf("%+v, %v", outcome, err)
	}
	a.client, object.ResourceVersion, cache.deployment = refusing, "2000", object
	wantSteady(t, a, Intent{Config: shop()}, true)
}
