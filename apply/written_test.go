package apply

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestOwnWrites: no object is believed that was read before our own last write to it.
func TestOwnWrites(t *testing.T) {
	refused := Classify(t.Context(), ObjectRef{}, apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, "web", errors.New("no")))
	lost := Classify(t.Context(), ObjectRef{}, apierrors.NewTimeoutError("no answer", 0))
	died := Classify(t.Context(), ObjectRef{}, &apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Message: "rpc error: code = Unavailable desc = EOF"}})
	for name, c := range map[string]struct {
		writes  []error // nil: at version 2000
		read    string
		believe bool
	}{
		"never written":         {nil, "1000", true},
		"read before the write": {[]error{nil}, "1999", false},
		"read at the write":     {[]error{nil}, "2000", true},
		"read after the write":  {[]error{nil}, "10000", true},
		"not to be compared":    {[]error{nil}, "x", false},
		"a refused write":       {[]error{refused}, "1000", true},
		"a lost answer":         {[]error{lost}, "9999", false},
		"etcd died":             {[]error{died}, "9999", false},
		"cancelled":             {[]error{context.Canceled}, "9999", false},
		"refused, no version":   {[]error{refused}, "x", false},
		"lost, then refused":    {[]error{lost, refused}, "9999", false},
		"lost, then landed":     {[]error{lost, nil}, "2000", true},
		"landed, then refused":  {[]error{nil, refused}, "1999", false},
	} {
		t.Run(name, func(t *testing.T) {
			cache := &shopCache{}
			a := newShopApplier(t, cache)
			read := applied(t, a)
			read.ResourceVersion = c.read
			_, call := a.begin(t.Context())
			encoded, err := encode(Intent{Config: shop()})
			if err != nil {
				t.Fatal(err)
			}
			call.about(encoded)
			for _, write := range c.writes {
				known := call.sending(encoded, false)
				if call.believes(read, "") {
					t.Error("while a write is on its way")
				}
				call.ref.ResourceVersion = "2000"
				known(write)
			}
			if got := call.believes(read, ""); got != c.believe {
				t.Errorf("version %s is believed: %v", c.read, got)
			}
		})
	}
}

// TestDryRunIsNoWrite: what a plan sends changes nothing that was read.
func TestDryRunIsNoWrite(t *testing.T) {
	cache := &shopCache{}
	a := newShopApplier(t, cache)
	cache.deployment = applied(t, a)
	wantSteady(t, a, Intent{Config: shop()}, true)
	encoded, err := encode(Intent{Config: shop()})
	if err != nil {
		t.Fatal(err)
	}
	_, call := a.begin(t.Context())
	call.dryRun = true
	call.about(encoded)
	known := call.sending(encoded, false)
	wantSteady(t, a, Intent{Config: shop()}, true)
	call.ref.ResourceVersion = "2000"
	known(nil)
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
			config.(*appsv1ac.DeploymentApplyConfiguration).WithUID(object.UID).WithResourceVersion("2000")
			return nil
		},
	})
	if outcome, err := a.Apply(t.Context(), Intent{Config: shop()}); err != nil || outcome.Action != Configured {
		t.Fatalf("%+v, %v", outcome, err)
	}
	a.client, object.ResourceVersion, cache.deployment = refusing, "2000", object
	wantSteady(t, a, Intent{Config: shop()}, true)
}

// TestForceOfUnknownOutcome: after a forced apply whose answer was lost, no read is trusted for
// the applies of another field manager either: the force may have taken that manager's fields.
func TestForceOfUnknownOutcome(t *testing.T) {
	for _, forced := range []bool{true, false} {
		a := newShopApplier(t, &shopCache{})
		_, call := a.begin(t.Context())
		encoded, err := encode(Intent{Config: shop()})
		if err != nil {
			t.Fatal(err)
		}
		call.about(encoded)
		call.sending(encoded, forced)(&RetryableError{})
		other := call.writtenKey("")
		other.manager = "another"
		if trusted := a.config.Steady.written.trusts(other, "9999"); trusted == forced {
			t.Errorf("forced %v: the read is trusted: %v", forced, trusted)
		}
	}
}
