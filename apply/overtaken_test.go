package apply_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
)

// TestOvertakenIsTriedAgain: a 409 that the server gives up a race with is no ownership
// conflict, and lets fewer race.
func TestOvertakenIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, kubectl)
		w.Answer(1, overtaken)
		outcome, err := w.applier(apply.Policy{}).Apply(t.Context(), apply.Intent{Config: threeReplicas()})
		if err != nil || outcome.Attempts != 2 {
			t.Errorf("%+v, %v", outcome, err)
		}
	})
}

// TestOvertakenLetsFewerRace: while the server refuses some writes as overtaken, fewer are under
// way at a time, though as many wait.
func TestOvertakenLetsFewerRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var overtakes atomic.Bool
		s, set := newFarServer(20*time.Millisecond, http.StatusOK), lanes.New()
		s.stale = func(number int) bool { return overtakes.Load() && number%2 == 0 }
		ctx, cancel := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		ended.Go(func() { s.writeTo(ctx, t, set, 64, applyOnce) })
		time.Sleep(2 * time.Second)
		_, _, wide := s.count()
		overtakes.Store(true)
		time.Sleep(time.Second)
		s.mu.Lock()
		s.most = 0
		s.mu.Unlock()
		time.Sleep(time.Second)
		_, _, narrow := s.count()
		if wide < 4 || narrow >= wide {
			t.Errorf("%d at a time, and %d of which every second one is overtaken", wide, narrow)
		}
		cancel()
		ended.Wait()
	})
}
