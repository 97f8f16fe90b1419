package trial

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/compare"
	"coapply.dev/compare/history"
)

var errStale = apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "t", errors.New("the object has been modified"))

// alone is a writer without an API server, whose arm is a function.
func alone(arm write, whole bool) *oneWriter {
	tr := newTrial(place{}, Spec{Arm: compare.Arm{Name: "arm", Whole: whole}})
	tr.session, tr.writer = &session{tally: newTally()}, arm
	return &oneWriter{trial: tr, log: tr.log.writers[0]}
}

func TestOutcomes(t *testing.T) {
	cut := fmt.Errorf("waiting for the next attempt: %w", context.DeadlineExceeded)
	for name, c := range map[string]struct {
		err            error
		requests, open int64
		want           history.Outcome
	}{
		"landed":                      {nil, 1, 0, history.Landed},
		"landed when it was repeated": {nil, 2, 1, history.Landed},
		"stale writes":                {errStale, 5, 0, history.GaveUp},
		"a stale write after one without an answer": {errStale, 2, 1, history.Unknown},
		"cut off in its request":                    {cut, 2, 1, history.Unknown},
		"cut off between two":                       {cut, 2, 0, history.GaveUp},
		"an error that tells nothing":               {apierrors.NewInternalError(errors.New("etcd")), 1, 0, history.Unknown},
		"refused":                                   {apierrors.NewBadRequest("no"), 1, 0, history.Failed},
	} {
		of := &attempt{}
		of.requests.Store(c.requests)
		of.open.Store(c.open)
		if got := outcome(c.err, of); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func set() compare.Intent {
	i := compare.Intent{Name: "set"}
	for n := range 3 {
		part := intent(-1, -1)
		part.Name = fmt.Sprintf("t%d", n)
		i.Parts = append(i.Parts, part)
	}
	return i
}

func TestAnIntentIsWrittenPartByPart(t *testing.T) {
	var written []string
	w := alone(func(_ context.Context, i compare.Intent) (compare.Receipt, error) {
		written = append(written, i.Name)
		switch i.Name {
		case "t1":
			return compare.Receipt{}, errStale
		case "t0":
			return compare.Receipt{Skipped: true}, nil
		}
		return compare.Receipt{ResourceVersion: "7"}, nil
	}, false)
	if err := w.write(t.Context(), set(), -1, 4); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(written, []string{"t0", "t1"}) {
		t.Errorf("written: %v: a part that does not land ends the intent", written)
	}
	if m := w.log.Intents[0]; m.Outcome != history.GaveUp || m.Skipped || len(w.log.Intents) != 1 {
		t.Errorf("the intent as a whole: %+v", m)
	}
	operations := w.trial.log.operations()
	if len(operations) != 2 || operations[0].Outcome != history.Landed || !operations[0].Skipped ||
		operations[1].Outcome != history.GaveUp || operations[1].Sequence != 4 || operations[1].Writer != 0 {
		t.Errorf("operations: %+v", operations)
	}
}

// What an arm does with an intent as a whole is its own affair: the oracle only knows what may come.
func TestAnArmThatTakesIntentsAsAWhole(t *testing.T) {
	var written []string
	w := alone(func(_ context.Context, i compare.Intent) (compare.Receipt, error) {
		written = append(written, i.Name)
		return compare.Receipt{}, nil
	}, true)
	if err := w.write(t.Context(), set(), -1, 0); err != nil {
		t.Fatal(err)
	}
	noted := 0
	for _, o := range w.trial.log.operations() {
		if o.Outcome == history.Noted {
			noted++
		}
	}
	if !slices.Equal(written, []string{"set"}) || noted != 3 || len(w.trial.log.operations()) != 3 {
		t.Errorf("written %v, operations %+v", written, w.trial.log.operations())
	}
	if m := w.log.Intents[0]; m.Outcome != history.Landed || m.Skipped {
		t.Errorf("the intent: %+v", m)
	}
}

func TestPausesAreWaitedOnPurpose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := alone(func(ctx context.Context, i compare.Intent) (compare.Receipt, error) {
			return compare.Receipt{}, i.Pause(ctx)
		}, false)
		i := intent(0, 0)
		i.Pause = func(ctx context.Context) error { return sleep(ctx, 20*time.Millisecond) }
		if err := w.write(t.Context(), i, -1, 0); err != nil {
			t.Fatal(err)
		}
		if w.log.Waited != 20*time.Millisecond || w.log.Busy != 0 {
			t.Errorf("waited %s, busy %s", w.log.Waited, w.log.Busy)
		}
		if m := w.log.Intents[0]; m.Paused != 20*time.Millisecond || m.Ended-m.Began != m.Paused {
			t.Errorf("paused %s of %s", m.Paused, m.Ended-m.Began)
		}
	})
}

// What the administrator does in a pause is waited for once: twice would make the time of the arm negative.
func TestRequestsInAPauseAreNotWaitedForTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := alone(func(ctx context.Context, i compare.Intent) (compare.Receipt, error) {
			return compare.Receipt{}, i.Pause(ctx)
		}, false)
		admin := waiting(answers(func(*http.Request) (*http.Response, error) {
			time.Sleep(20 * time.Millisecond)
			return &http.Response{Body: http.NoBody}, nil
		}))
		i := intent(0, 0)
		i.Pause = func(ctx context.Context) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
			if err != nil {
				return err
			}
			response, err := admin.RoundTrip(request)
			if err != nil {
				return err
			}
			return response.Body.Close()
		}
		if err := w.write(t.Context(), i, -1, 0); err != nil {
			t.Fatal(err)
		}
		if w.log.Busy != 0 || w.log.Waited != 20*time.Millisecond {
			t.Errorf("waited %s, busy %s", w.log.Waited, w.log.Busy)
		}
	})
}

// A round that holds its writers together would otherwise look like a slow load generator.
func TestNextIsWaitedForByRoundsOnly(t *testing.T) {
	for rounds, want := range map[int]bool{0: false, 1: true} {
		w := alone(nil, false)
		w.Cell.Rounds = rounds
		w.run = &plain{next: func(ctx context.Context, _, _ int) (compare.Intent, bool, error) {
			return compare.Intent{}, false, sleep(ctx, 10*time.Millisecond)
		}}
		if err := w.loop(t.Context(), t.Context()); err != nil {
			t.Fatal(err)
		}
		if waited := w.log.Waited >= 10*time.Millisecond; waited != want || waited == (w.log.Own >= 10*time.Millisecond) {
			t.Errorf("%d rounds: waited %s, own %s", rounds, w.log.Waited, w.log.Own)
		}
	}
}

func TestAnIntentHasADeadline(t *testing.T) {
	w := alone(func(ctx context.Context, _ compare.Intent) (compare.Receipt, error) {
		<-ctx.Done()
		return compare.Receipt{}, ctx.Err()
	}, false)
	w.Workload.Deadline = time.Millisecond
	if err := w.write(t.Context(), intent(0, 0), -1, 0); err != nil {
		t.Fatal(err)
	}
	if m := w.log.Intents[0]; m.Outcome != history.Unknown {
		t.Errorf("%+v", m)
	}
}
