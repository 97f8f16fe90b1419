package apply_test

import (
	"context"
	"testing"

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

// TestSettlingReadsByTheLiveReader, not by the client, which may be one that caches.
func TestSettlingReadsByTheLiveReader(t *testing.T) {
	s := newScript(t, []step{{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))}, {"PATCH", ok(web("uid-1", "8"))}})
	c := s.client(s.restConfig(true), nil)
	live := &liveReads{Reader: c}
	applier, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: live, Policy: force})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas()}); err != nil || live.n != 1 {
		t.Errorf("%d reads, %v", live.n, err)
	}
}
