package explore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"coapply.dev/apply/applytest"
)

const actTimeout = time.Minute

// Result is what an exploration has found.
type Result struct {
	Schedules int // executions, each of another schedule
	States    int // different states
	Longest   int // the number of steps of the longest schedule
	// Exhaustive is the number of steps up to which every choice was tried. It equals Longest if all states were explored.
	Exhaustive int

	Schedule  []string // that of the violation
	Violation error    // the first violation, or nil
}

// explorer explores a World. It starts a new API server from time to time, as a server keeps all versions.
type explorer struct {
	world   *World
	server  *applytest.Server
	stop    context.CancelFunc
	served  int
	states  map[uint64]int // the smallest number of steps to each state
	pending [][][]string   // schedules to be continued, by their number of steps
}

const runsPerServer = 3000

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(errors.Join(clientgoscheme.AddToScheme(s), apiextensionsv1.AddToScheme(s)))
	return s
}()

// Explore explores the World until it has seen all states, or has run the given number of schedules, or a schedule
// violates an invariant. Short schedules come first. It must be called in a bubble of testing/synctest.
func (w *World) Explore(schedules int) (Result, error) {
	x := &explorer{world: w, states: map[uint64]int{}, pending: make([][][]string, maxSteps+2)}
	x.pending[0] = [][]string{nil}
	defer x.close()
	var found Result
	for steps := 0; steps < len(x.pending); {
		if len(x.pending[steps]) == 0 {
			steps++
			continue
		}
		if found.Schedules == schedules {
			found.Exhaustive = steps - 1
			return found, nil
		}
		prefix := x.pending[steps][0]
		x.pending[steps] = x.pending[steps][1:]
		if err := x.count(&found, prefix, x.first); err != nil || found.Violation != nil {
			return found, err
		}
	}
	found.Exhaustive = found.Longest
	return found, nil
}

// Walk runs schedules with random steps.
func (w *World) Walk(schedules int, random *rand.Rand) (Result, error) {
	x := &explorer{world: w, states: map[uint64]int{}}
	defer x.close()
	var found Result
	for range schedules {
		err := x.count(&found, nil, func(r *run, steps []string) string {
			x.states[r.state()] = 0
			return steps[random.IntN(len(steps))]
		})
		if err != nil || found.Violation != nil {
			return found, err
		}
	}
	return found, nil
}

// count runs a schedule, and adds it to what was found.
func (x *explorer) count(found *Result, prefix []string, next func(*run, []string) string) error {
	r, err := x.run(prefix, next)
	if err != nil {
		return err
	}
	found.Schedules++
	found.Longest, found.States = max(found.Longest, len(r.taken)), len(x.states)
	if r.wrong != nil {
		found.Schedule, found.Violation = r.taken, r.wrong
	}
	return nil
}

// Replay runs one schedule. The function show is called before each step, with the requests that have stopped.
func (w *World) Replay(schedule []string, show func(step, text string)) (Result, error) {
	x := &explorer{world: w}
	defer x.close()
	r, err := x.run(nil, func(r *run, steps []string) string {
		if len(r.taken) >= len(schedule) {
			return steps[0]
		}
		step := schedule[len(r.taken)]
		show(step, r.textOf(step))
		return step
	})
	if err != nil {
		return Result{}, err
	}
	for _, a := range r.actors {
		for _, saw := range a.saw {
			show(a.Name, saw)
		}
	}
	return Result{Schedules: 1, Longest: len(r.taken), Schedule: r.taken, Violation: r.wrong}, nil
}

func (r *run) textOf(step string) string {
	for _, a := range r.actors {
		if a.asks != nil && strings.TrimRight(step, "?~!^") == a.Name {
			return a.asks.text
		}
	}
	return "event"
}

// first takes the first step, and notes the others for later. It returns "" if the state was already reached by as few
// steps.
func (x *explorer) first(r *run, steps []string) string {
	state := r.state()
	if before, known := x.states[state]; known && before <= len(r.taken) {
		return ""
	}
	x.states[state] = len(r.taken)
	for _, step := range steps[1:] {
		x.pending[len(r.taken)+1] = append(x.pending[len(r.taken)+1], append(slices.Clone(r.taken), step))
	}
	return steps[0]
}

// run takes the steps of a prefix, and then those that next returns, until all actors have ended, or next returns "".
func (x *explorer) run(prefix []string, next func(*run, []string) string) (*run, error) {
	if err := x.serve(); err != nil {
		return nil, err
	}
	x.served++
	namespace := fmt.Sprintf("run-%d", x.served)
	if err := x.server.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return nil, err
	}
	r := x.world.start(x.server, namespace)
	defer r.end()
	synctest.Wait()
	for r.wrong == nil {
		steps := r.choices()
		if r.ended() {
			r.settle()
			return r, nil
		}
		var step string
		if len(r.taken) < len(prefix) {
			step = prefix[len(r.taken)]
		} else if step = next(r, steps); step == "" {
			return r, nil
		}
		if err := r.take(step); err != nil {
			return nil, fmt.Errorf("the actors do not do the same each time: %w", err)
		}
		synctest.Wait()
		if len(r.taken) > maxSteps {
			r.fail(errors.New("the schedule does not end"))
		}
	}
	return r, nil
}

func (x *explorer) serve() error {
	if x.server != nil && x.served%runsPerServer != 0 {
		return nil
	}
	x.close()
	var ctx context.Context
	ctx, x.stop = context.WithCancel(context.Background())
	var err error
	if x.server, err = applytest.StartServer(ctx, applytest.WithScheme(scheme)); err != nil {
		return err
	}
	return x.server.Create(ctx, widgets())
}

func (x *explorer) close() {
	if x.stop != nil {
		x.stop()
	}
	synctest.Wait()
}
