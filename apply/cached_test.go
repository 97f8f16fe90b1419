package apply

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"coapply.dev/apply/internal/cacheread"
	"coapply.dev/apply/internal/steady"
	"coapply.dev/internal/recent"
)

// unsynced is a cache whose informers do not get their objects, unless the one inside
// is let through.
type unsynced struct {
	shopCache

	synced bool
	err    error // instead of no answer
	slow   bool  // no informer is waited for
	reads  int
}

func (c *unsynced) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	c.reads++
	switch {
	case c.synced: // whatever the context
		return c.shopCache.Get(ctx, key, object, options...)
	case c.err != nil:
		return c.err
	}
	<-ctx.Done()
	if c.slow {
		return ctx.Err()
	}
	return apierrors.NewTimeoutError("failed waiting for *v1.Deployment Informer to sync", 0)
}

// missingRights applies with a context of an hour, and counts who waited.
type missingRights struct {
	*testing.T
	*Applier
	log []string
}

func (m *missingRights) apply(intent Intent) (outcome Outcome, waited time.Duration, err error) {
	ctx, cancel := context.WithTimeout(m.Context(), time.Hour)
	defer cancel()
	ctx = logr.NewContext(ctx, funcr.New(func(_, text string) { m.log = append(m.log, text) }, funcr.Options{}))
	start := time.Now()
	outcome, err = m.Apply(ctx, intent)
	return outcome, time.Since(start), err
}

func (m *missingRights) wantSent(n, waits int) {
	m.Helper()
	for range n {
		outcome, waited, err := m.apply(Intent{Config: shop()})
		if !errors.Is(err, errSent) || outcome.Attempts != 1 {
			m.Errorf("%+v, %v; want it sent", outcome, err)
		}
		if waited >= cacheread.Timeout {
			waits--
		}
		if waited > cacheread.Timeout {
			m.Errorf("it waited for %v", waited)
		}
	}
	if waits != 0 {
		m.Errorf("%d applies too few waited", waits)
	}
}

func (m *missingRights) wantToldOnce() {
	m.Helper()
	all := strings.Join(m.log, "\n")
	// The fake client has no resource for a kind; test/integration has.
	if len(m.log) != 1 || !strings.Contains(all, "list and watch are granted") || !strings.Contains(all, `"resource"="Deployment.apps"`) {
		m.Errorf("told: %d times: %s", len(m.log), all)
	}
}

// TestMissingRights: a cache that does not answer holds up one apply in a minute for a
// second, is told of once, and is of use again a minute after that read.
func TestMissingRights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache := &unsynced{}
		a := newUnknowingApplier(t, cache)
		m := &missingRights{T: t, Applier: a}
		m.wantSent(50, 1)
		time.Sleep(cacheread.Retry)
		m.wantSent(50, 1)
		m.wantToldOnce()
		cache.deployment = applied(t, a)
		cache.synced = true
		time.Sleep(cacheread.Retry)
		if outcome, waited, err := m.apply(Intent{Config: shop()}); err != nil || outcome.Action != Unchanged || waited > 0 {
			t.Errorf("%+v after %v, %v", outcome, waited, err)
		}
		m.wantToldOnce()
		a.config.Steady.proven = recent.New[steady.Key, *proven](1) // what was proven is looked at twice
		m.log, cache.synced = nil, false                            // a right is taken away
		m.wantSent(10, 1)
		m.wantToldOnce()
		time.Sleep(cacheread.Retry)
		cache.err = apierrors.NewNotFound(schema.GroupResource{Group: "apps", Resource: "deployments"}, "web")
		m.wantSent(1, 0)
		m.log, cache.err = nil, nil // the cache had answered: there is no such object
		m.wantSent(10, 1)
		m.wantToldOnce()
	})
}

// TestSlowCache: a read that is slow for another reason is no missing right.
func TestSlowCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &missingRights{T: t, Applier: newUnknowingApplier(t, &unsynced{slow: true})}
		m.wantSent(3, 3)
		if len(m.log) > 0 {
			t.Errorf("told: %v", m.log)
		}
	})
}

// TestMissingRightsOfOne: kinds do not wait for each other.
func TestMissingRightsOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newUnknowingApplier(t, &unsynced{})
		for i, kind := range []string{"Deployment", "StatefulSet"} {
			_, call := a.begin(t.Context(), Intent{})
			call.ref.GroupVersionKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}
			start := time.Now()
			for range 10 {
				if call.look(t.Context()) != nil {
					t.Error("there is nothing to see")
				}
			}
			if waited := time.Since(start); waited != cacheread.Timeout {
				t.Errorf("kind %d held up its callers for %v", i, waited)
			}
		}
	})
}

// TestMissingRightToGet: a reader that is refused is asked again once in a minute.
func TestMissingRightToGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "web", errors.New("no get"))
		m := &missingRights{T: t, Applier: newUnknowingApplier(t, &unsynced{err: refused})}
		m.wantSent(10, 0)
		m.wantToldOnce()
		if !strings.Contains(m.log[0], "no get") {
			t.Error(m.log)
		}
	})
}

// TestMissingRightsEnd: the end of the caller's context says nothing of the cache.
func TestMissingRightsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newUnknowingApplier(t, &unsynced{})
		ctx, cancel := context.WithTimeout(t.Context(), cacheread.Timeout/2)
		defer cancel()
		if _, err := a.Apply(ctx, Intent{Config: shop()}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if a.config.Steady.reads.Stuck(shopKind) {
			t.Error("the cache had half a second")
		}
	})
}

var shopKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}

// TestMissingRightsMustExist: what must exist is read live where the cache gives nothing,
// with a check of steady state, whose wait is enough, and without one.
func TestMissingRightsMustExist(t *testing.T) {
	for _, checked := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			a := newUnknowingApplier(t, &unsynced{})
			live := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
			object := applied(t, a)
			object.ResourceVersion = ""
			if err := live.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			a.config.LiveReader = live
			cache, pinned := &unsynced{}, 0
			a.client = interceptor.NewClient(a.client.(client.WithWatch), interceptor.Funcs{
				Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
					return cache.Get(ctx, key, object, options...)
				},
				Apply: func(_ context.Context, _ client.WithWatch, config runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
					if sent, err := json.Marshal(config); err == nil && strings.Contains(string(sent), string(object.UID)) {
						pinned++
					}
					return errSent
				},
			})
			a.reads = cacheread.New(a.client)
			if !checked {
				a.config.Steady = nil
			}
			m := &missingRights{T: t, Applier: a}
			for i := range 10 {
				outcome, waited, err := m.apply(Intent{Config: shop(), MustExist: true})
				if !errors.Is(err, errSent) || pinned != i+1 {
					t.Errorf("%+v, %v; want it pinned and sent", outcome, err)
				}
				if first := i == 0; waited != 0 && !first || first && waited != cacheread.Timeout {
					t.Errorf("apply %d waited for %v", i, waited)
				}
			}
			m.wantToldOnce()
			absent := shop().WithName("absent")
			if outcome, _, err := m.apply(Intent{Config: absent, MustExist: true}); err != nil || outcome.Action != Absent {
				t.Errorf("%+v, %v", outcome, err)
			}
		})
	}
}
