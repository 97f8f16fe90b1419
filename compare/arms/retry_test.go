package arms

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"coapply.dev/compare"
	"coapply.dev/compare/history"
)

var errStale = apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("it has been modified"))

// refusing returns a session whose first writes are all stale, as many as refusals says, and counts the writes.
func refusing(refusals int, writes *int) compare.Session {
	refuse := func() error {
		if *writes++; *writes <= refusals {
			return errStale
		}
		return nil
	}
	c := fake.NewClientBuilder().
		WithObjects(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "1"}}).
		WithInterceptorFuncs(interceptor.Funcs{
			Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error { return refuse() },
			Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
				return refuse()
			},
		}).Build()
	return compare.Session{Client: func(string) client.Client { return c }, Cache: c}
}

func oneKey(value string) compare.Intent {
	set := func(object *unstructured.Unstructured) error {
		return unstructured.SetNestedField(object.Object, value, "data", "k")
	}
	return compare.Intent{
		Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Namespace: "default", Name: "a", Manager: "m",
		Modify: set, Replace: set,
	}
}

func TestAttempts(t *testing.T) {
	for name, want := range map[string]int{
		"naive":             1,
		"gmu-default-retry": 5, "gmu-lanes": 5, "gmu-replace": 5, "patch-lock": 5, "gmu-exponential": 4,
	} {
		synctest.Test(t, func(t *testing.T) {
			writes := 0
			arm, _ := compare.Catalogue{Arms: All()}.Arm(name)
			writer, err := arm.New(refusing(1000, &writes))
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			_, err = writer.Write(t.Context(), oneKey("1"))
			if writes != want || !errors.Is(err, errStale) || Classify(err) != history.GaveUp {
				t.Errorf("%s: %d writes, want %d; then %v", name, writes, want, err)
			}
			if took := time.Since(start); name == "gmu-exponential" && took != 700*time.Millisecond {
				t.Errorf("%s: waited %v in all", name, took)
			}
		})
	}
}

func TestUnboundedEndsWithSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		writes := 0
		if _, err := gmuUnbounded(refusing(50, &writes)).Write(t.Context(), oneKey("1")); err != nil || writes != 51 {
			t.Errorf("%d writes, error %v", writes, err)
		}
	})
}

func TestUnboundedEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		writes := 0
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := gmuUnbounded(refusing(1_000_000, &writes)).Write(ctx, oneKey("1"))
		if Classify(err) != history.GaveUp || ctx.Err() == nil {
			t.Errorf("after %d writes: %v", writes, err)
		}
		if writes < 60 { // each wait is at most a second
			t.Errorf("%d writes in a minute", writes)
		}
	})
}

// TestRequeueWaitsAsAQueueDoes: 5 ms, then twice as long each time, and reads the cache in each turn.
func TestRequeueWaitsAsAQueueDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		writes, reads := 0, 0
		session := refusing(4, &writes)
		session.Cache = interceptor.NewClient(session.Cache.(client.WithWatch), interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				reads++
				return c.Get(ctx, key, o, opts...)
			},
		})
		arm := gmuRequeue(session)
		for round := range 2 { // a success is forgotten: the next failure waits 5 ms again
			start := time.Now()
			writes, reads = 0, 0
			if _, err := arm.Write(t.Context(), oneKey("1")); err != nil || writes != 5 || reads != 5+round {
				t.Errorf("%d writes and %d reads of the cache, want 5 and %d, one of them for its own last write; error %v", writes, reads, 5+round, err)
			}
			if took := time.Since(start); took != 75*time.Millisecond {
				t.Errorf("waited %v in all, want 5+10+20+40 ms", took)
			}
		}
	})
}

func TestRequeueEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		writes := 0
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := gmuRequeue(refusing(1_000_000, &writes)).Write(ctx, oneKey("1"))
		if Classify(err) != history.GaveUp || ctx.Err() == nil || writes != 14 {
			t.Errorf("after %d writes: %v", writes, err)
		}
	})
}
