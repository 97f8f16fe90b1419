package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/apply/update"
	"coapply.dev/test/kit"
)

const (
	appliers, updaters = 3, 2
	steps              = 6 // of each writer
	// rate is how many requests of a run meet a fault, at most.
	rate   = 0.4
	shared = "shared" // the field that all appliers force
)

// atRandom are the faults of a random run. BusyFor and UnavailableFor are client-go's to wait for, a second each.
var atRandom = []Fault{
	RequestDropped, AnswerDropped, Internal, InternalAfter, StaleWrite, ForgedConflict, Busy, Unavailable, TimeoutBefore,
	TimeoutAfter, AnswerTruncated, AnswerDelayed, PageOfABalancer, UnreadableAnswer,
}

// TestRandomFaults has appliers and updaters write to one object while their requests meet faults, and checks the history
// of each run: what was acknowledged is there, what was refused never was, and each field behaves as a register does.
// Each writer's lanes are its own, as if it were a process. The seeds of the runs count up from COAPPLY_SEED, so that
// COAPPLY_SEED=121 goes on after 120 runs, and COAPPLY_CASES=1 repeats one of them.
func TestRandomFaults(t *testing.T) {
	once(t)
	seed, runs := kit.Seed(t), kit.Cases(t, 1000)
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	tally := &tally{met: map[string]int{}, results: map[string]int{}}
	t.Run("runs", func(t *testing.T) {
		const atOnce = 4
		for worker := range atOnce {
			t.Run(fmt.Sprint("worker ", worker), func(t *testing.T) {
				t.Parallel()
				for i := worker; i < runs; i += atOnce {
					r := &run{T: t, client: c, namespace: namespace, name: fmt.Sprintf("run-%d", i), tally: tally, began: time.Now(),
						dice: rand.New(rand.NewPCG(seed+uint64(i), 0)), refused: map[string]error{}}
					if r.perform(); t.Failed() {
						t.Fatalf("COAPPLY_SEED=%d COAPPLY_CASES=1", seed+uint64(i))
					}
				}
			})
		}
	})
	count(t, "seeds %d to %d", seed, seed+uint64(runs)-1)
	tally.log(t, runs)
}

// tally is what came of all runs.
type tally struct {
	mu           sync.Mutex
	met, results map[string]int
	operations   int
}

func (y *tally) log(t *testing.T, runs int) {
	count(t, "%d random runs, %d operations of writers and readers", runs, y.operations)
	for _, counted := range []map[string]int{y.met, y.results} {
		for _, what := range slices.Sorted(maps.Keys(counted)) {
			t.Logf("%6d %s", counted[what], what)
		}
	}
}

// run is one history.
type run struct {
	*testing.T

	client          client.Client
	namespace, name string
	dice            *rand.Rand
	began           time.Time
	tally           *tally

	mu      sync.Mutex
	history []porcupine.Operation
	refused map[string]error // values that never were, and why
}

func (r *run) perform() {
	var writers sync.WaitGroup
	for i := range appliers + updaters {
		w := &writer{run: r, id: i, wire: NewWire(r.name), dice: rand.New(rand.NewPCG(r.dice.Uint64(), 0))}
		w.wire.Arm(w.plan(r.dice.Float64()*rate), nil)
		writers.Go(w.work)
	}
	done := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() { r.read(appliers+updaters, done) })
	writers.Wait()
	close(done)
	reader.Wait()
	r.judge()
}

// writer is one of a process of its own.
type writer struct {
	*run

	id   int
	wire *Wire
	dice *rand.Rand
	sent int      // requests that met a fault and were carried out
	met  []string // faults, of this call
}

func (w *writer) plan(rate float64) Plan {
	dice := rand.New(rand.NewPCG(w.dice.Uint64(), 1))
	return func(Request) *Fault {
		if dice.Float64() >= rate {
			return nil
		}
		fault := atRandom[dice.IntN(len(atRandom))]
		if w.met = append(w.met, fault.Name); fault.Sent {
			w.sent++
		}
		w.tally.mu.Lock()
		w.tally.met[fault.Name]++
		w.tally.mu.Unlock()
		return &fault
	}
}

func (w *writer) work() {
	config := rest.CopyConfig(kit.Server(w.T))
	config.ContentType = "application/json"
	config.Wrap(w.wire.Wrap)
	c := kit.NewClient(w.T, config)
	name := fmt.Sprint("writer-", w.id)
	set := lanes.New()
	applier, err := apply.New(c, apply.Config{FieldManager: name, Policy: apply.OnConflict(apply.Force), LiveReader: c, Lanes: set})
	if err != nil {
		w.Error(err)
		return
	}
	updater, err := update.New(update.Config{Client: c, LiveReader: c, FieldManager: name, Lanes: set})
	if err != nil {
		w.Error(err)
		return
	}
	for i := range steps {
		value := fmt.Sprintf("%d-%d", w.id, i)
		if w.id < appliers {
			w.write(map[string]string{name: value, shared: value}, func(ctx context.Context) error {
				config := corev1ac.ConfigMap(w.name, w.namespace).WithData(map[string]string{name: value, shared: value})
				_, err := applier.Apply(ctx, apply.Intent{Config: config})
				return err
			})
			continue
		}
		w.write(map[string]string{name: value}, func(ctx context.Context) error {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.name}}
			_, err := update.Do(ctx, updater, object, func(object *corev1.ConfigMap) error {
				if object.Data == nil {
					object.Data = map[string]string{}
				}
				object.Data[name] = value
				return nil
			})
			return err
		})
	}
}

// write notes an operation for each field. What an error says of it has to hold: nothing landed of what failed, unless a
// request of the call was carried out and its answer lost. Each of those may have landed, and others in between.
func (w *writer) write(values map[string]string, do func(context.Context) error) {
	w.sent, w.met = 0, nil
	call := time.Since(w.began).Nanoseconds()
	err := do(w.Context())
	end := time.Since(w.began).Nanoseconds()
	if errors.Is(err, apply.ErrRefused) && !apierrors.IsNotFound(err) && !slices.Contains(w.met, ForgedConflict.Name) {
		w.Errorf("%s: after %q it is said to be refused: %v", w.name, w.met, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for field, value := range values {
		note := func(in input) {
			w.history = append(w.history, porcupine.Operation{ClientId: w.id, Input: in, Call: call, Return: end})
		}
		if err == nil {
			note(input{field: field, value: value})
		} else if w.sent == 0 {
			w.refused[value] = err
		}
		for range w.sent {
			note(input{field: field, value: value, maybe: true})
		}
	}
	w.count(err, len(values))
}

func (w *writer) count(err error, operations int) {
	result := "ok"
	if err != nil {
		result = apply.ResultOf(err)
	}
	if slices.Contains([]string{"ok", "Retryable"}, result) || apierrors.IsNotFound(err) {
		result += " "
	} else {
		result += fmt.Sprintf(" after %q: %v", w.met, strings.ReplaceAll(err.Error(), w.name, "RUN"))
	}
	w.tally.mu.Lock()
	defer w.tally.mu.Unlock()
	w.tally.results[result]++
	w.tally.operations += operations
}

// read reads, as nobody in between does, until the writers are done and once more.
func (r *run) read(id int, done <-chan struct{}) {
	for last := false; !last; {
		select {
		case <-done:
			last = true
		case <-time.After(5 * time.Millisecond):
		}
		call := time.Since(r.began).Nanoseconds()
		var object corev1.ConfigMap
		if err := r.client.Get(r.Context(), client.ObjectKey{Namespace: r.namespace, Name: r.name}, &object); client.IgnoreNotFound(err) != nil {
			r.Error(err)
			return
		}
		end := time.Since(r.began).Nanoseconds()
		r.mu.Lock()
		for i := range appliers + updaters + 1 {
			field := shared
			if i > 0 {
				field = fmt.Sprint("writer-", i-1)
			}
			r.history = append(r.history, porcupine.Operation{ClientId: id, Input: input{field: field}, Call: call, Output: object.Data[field], Return: end})
			if err := r.refused[object.Data[field]]; err != nil {
				r.Errorf("%s is %s, which was refused: %v", field, object.Data[field], err)
			}
		}
		r.mu.Unlock()
	}
}
