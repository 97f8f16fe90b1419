package workloads

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"coapply.dev/compare"
)

func tenOf(writers, rounds int) *ten {
	stage := stageOf(compare.Parameters{Writers: writers, Managers: writers, Rounds: rounds, Objects: 1})
	return &ten{newConfigMaps(stage), newGate(writers)}
}

// writeRounds is what a trial does with one writer: read, pause, write; it gives up before pausing where fails says so.
func writeRounds(ctx context.Context, r *ten, writer int, fails func(round int) bool, paused func(round int)) error {
	for round := 0; ; round++ {
		intent, more, err := r.Next(ctx, writer, round)
		if err != nil || !more {
			return err
		}
		if fails(round) {
			continue
		}
		if err := intent.Pause(ctx); err != nil {
			return err
		}
		paused(round)
	}
}

func never(int) bool { return false }

func TestNobodyWritesBeforeAllHaveRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
		const writers, rounds = 10, 5
		r := tenOf(writers, rounds)
		var read, written [rounds]atomic.Int64
		err := together(t.Context(), writers, func(ctx context.Context, i int) error {
			reads := func(round int) bool {
				time.Sleep(time.Duration(i) * time.Millisecond)
				read[round].Add(1)
				return false
			}
			return writeRounds(ctx, r, i, reads, func(round int) {
				if got := read[round].Load(); got != writers {
					t.Errorf("round %d: writer %d writes after %d of %d have read", round, i, got, writers)
				}
				written[round].Add(1)
			})
		})
		extra, finishErr := r.Finish(t.Context())
		if err != nil || finishErr != nil || extra["rounds"] != rounds || written[rounds-1].Load() != writers {
			t.Errorf("%v, %v, %v; %d wrote in the last round", err, finishErr, extra, written[rounds-1].Load())
		}
	})
}

func TestWriterThatDoesNotPauseHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, began := tenOf(3, 4), time.Now()
		err := together(t.Context(), 3, func(ctx context.Context, i int) error {
			fails := never
			if i == 0 {
				fails = func(int) bool { return true }
			}
			return writeRounds(ctx, r, i, fails, func(int) {})
		})
		if took := time.Since(began); err != nil || took != 0 {
			t.Errorf("took %v, %v", took, err)
		}
	})
}

func TestPauseEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		err := writeRounds(ctx, tenOf(2, 4), 0, never, func(int) {})
		if !errors.Is(err, context.Canceled) || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
