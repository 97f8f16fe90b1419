package apply_test

import (
	"context"
	"testing"
	"testing/synctest"

	"k8s.io/client-go/openapi/openapitest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// liveReads counts the reads past the cache.
type liveReads struct {
	client.Reader

	n int
}

func (l *liveReads) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	l.n++
	return l.Reader.Get(ctx, key, into, options...)
}

// TestSlowCacheIsReadPast: a cache that does not answer in time is not one without the object.
func TestSlowCacheIsReadPast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		appliedNow(w)
		w.cache = slowCache{}
		outcome, err := w.applier(force).Apply(t.Context(), apply.Intent{Config: threeReplicas(), MustExist: true})
		if err != nil || outcome.Action != apply.Unchanged {
			t.Errorf("%+v, %v", outcome, err)
		}
		w.WantSent(read, pinned)
	})
}

type slowCache struct{ client.Reader }

func (slowCache) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestCacheIsReadBesideTheCheck: what the steady-state check does not look at comes from the
// cache as well, as long as that answers.
func TestCacheIsReadBesideTheCheck(t *testing.T) {
	w := newWorld(t, entriesOf("scale")[1:]...)
	cachedNow(w)
	check, err := apply.NewSteadyState(w.cache, openapitest.NewEmbeddedFileClient())
	if err != nil {
		t.Fatal(err)
	}
	intent := scaleIntent()
	intent.MustExist = true
	if outcome, err := w.applierOf(apply.Config{Steady: check}).Apply(t.Context(), intent); err != nil || outcome.Requests != 1 {
		t.Errorf("%+v, %v", outcome, err)
	}
	w.WantSent("PATCH /scale uid")
}

// TestSettlingReadsByTheLiveReader, not by the client, which may be one that caches.
func TestSettlingReadsByTheLiveReader(t *testing.T) {
	w := newWorld(t)
	before(3, alone)(w)
	c := w.Client(w.restConfig(), nil)
	live := &liveReads{Reader: c}
	applier, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: live, Policy: force})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas()}); err != nil || live.n != 1 {
		t.Errorf("%d reads, %v", live.n, err)
	}
}
