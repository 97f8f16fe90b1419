package lanes_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply/lanes"
)

// busyServer is an API server with one core and one object. An attempt to store a write needs the core twice, for about
// a millisecond each: first it reads the object, then it writes the object. If another write was stored in between, the
// server repeats the attempt. Requests and responses take about a millisecond.
type busyServer struct {
	random   *rand.Rand // used on the core
	core     chan struct{}
	version  int
	attempts int
	managed  map[string]metav1.Time
}

func (s *busyServer) work(do func()) {
	s.core <- struct{}{} // a mutex would stop the time of synctest
	defer func() { <-s.core }()
	time.Sleep(ms/2 + time.Duration(s.random.Int64N(int64(ms))))
	do()
}

// apply stores a write, and returns the managed fields.
func (s *busyServer) apply(manager string) (managed []metav1.ManagedFieldsEntry) {
	read, trip := 0, time.Duration(0)
	for managed == nil {
		s.work(func() {
			s.attempts++
			read, trip = s.version, time.Duration(s.random.Int64N(int64(ms)))
		})
		s.work(func() {
			if s.version != read {
				return
			}
			s.version++
			s.managed[manager] = metav1.Time{Time: time.Now().Truncate(time.Second)}
			for name, at := range s.managed {
				managed = append(managed, metav1.ManagedFieldsEntry{Manager: name, Time: &at})
			}
		})
	}
	time.Sleep(ms/2 + trip)
	return managed
}

const ms = time.Millisecond

// crowded is a number of processes that each write to the same object again as soon as the last write has ended.
type crowded struct {
	*busyServer

	landed []int         // the number of writes of each process
	waited time.Duration // the time that all processes spent in Pace
	mu     sync.Mutex
}

func newCrowd() *crowded {
	return &crowded{busyServer: &busyServer{random: rand.New(rand.NewPCG(1, 2)), core: make(chan struct{}, 1), managed: map[string]metav1.Time{}}}
}

// write starts a process with the given field managers, and returns when the context ends.
func (c *crowded) write(ctx context.Context, set *lanes.Set, paced bool, managers ...string) (landed int) {
	var all sync.WaitGroup
	for _, manager := range managers {
		all.Go(func() {
			for ctx.Err() == nil {
				inside, leave, err := set.Join(ctx, deploymentNamed("web"), manager)
				if err == nil && paced {
					began := time.Now()
					err = lanes.Pace(inside)
					c.add(&c.waited, time.Since(began))
				}
				if err == nil {
					began := time.Now()
					managed := c.apply(manager)
					lanes.Landed(inside, manager, time.Since(began), managed)
					c.mu.Lock()
					landed++
					c.mu.Unlock()
				}
				leave()
			}
		})
	}
	all.Wait()
	return landed
}

func (c *crowded) add(sum *time.Duration, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*sum += d
}

// TestCrowd: many processes pause until the API server repeats few applies of the object; few processes never pause.
func TestCrowd(t *testing.T) {
	for _, test := range []struct {
		processes, managers int // managers of each process
		waits               bool
		most                float64 // attempts for each landed write
	}{
		{processes: 1, managers: 1, most: 1},
		{processes: 1, managers: 16, most: 1},
		{processes: 2, managers: 1, most: 2},
		{processes: 2, managers: 4, most: 2},
		{processes: 8, managers: 1, waits: true, most: 3},
		{processes: 16, managers: 1, waits: true, most: 3},
		{processes: 16, managers: 4, waits: true, most: 3},
		{processes: 64, managers: 1, waits: true, most: 6},
	} {
		t.Run(fmt.Sprint(test.processes, " processes with ", test.managers), func(t *testing.T) {
			run := func(paced bool) (attempts float64, c *crowded) {
				synctest.Test(t, func(t *testing.T) {
					c = newCrowd()
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					var all sync.WaitGroup
					c.landed = make([]int, test.processes)
					for i := range c.landed {
						all.Go(func() {
							var managers []string
							for j := range test.managers {
								managers = append(managers, fmt.Sprint("m", i, "-", j))
							}
							c.landed[i] = c.write(ctx, lanes.New(), paced, managers...)
						})
					}
					all.Wait()
				})
				return float64(c.attempts) / float64(c.version), c
			}
			plain, p := run(false)
			attempts, c := run(true)
			if attempts > test.most || attempts > plain {
				t.Errorf("%.1f attempts for each write, want at most %.1f; without pauses %.1f", attempts, test.most, plain)
			}
			if few := c.waited < time.Minute/1000; test.waits == few { // two processes may wait once, before each has seen all its own field managers
				t.Errorf("the processes waited for %v", c.waited)
			}
			if slices.Max(c.landed) > 8*slices.Min(c.landed) {
				t.Errorf("a process wrote %d times, another one %d times", slices.Min(c.landed), slices.Max(c.landed))
			}
			t.Logf("%.1f attempts instead of %.1f, %d writes instead of %d, %d to %d", attempts, plain, c.version, p.version, slices.Min(c.landed), slices.Max(c.landed))
		})
	}
}

// TestCrowdLeaves: the last process of a crowd does not pause when the others have stopped for three seconds.
func TestCrowdLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, last := newCrowd(), lanes.New()
		alone := func(d time.Duration) int {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			return c.write(ctx, last, true, "last")
		}
		crowd, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		var all sync.WaitGroup
		for i := range 15 {
			all.Go(func() { c.write(crowd, lanes.New(), true, fmt.Sprint("m", i)) })
		}
		all.Go(func() { c.write(crowd, last, true, "last") })
		all.Wait()
		alone(3 * time.Second)
		waited := c.waited
		if landed := alone(9 * time.Second); landed < 2500 || c.waited != waited {
			t.Errorf("%d writes in 9 seconds, and %v of pauses", landed, c.waited-waited)
		}
	})
}

// TestOldPause: an apply that was slow a minute ago delays no write now, not even the second of two at once.
func TestOldPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inside, leave, err := lanes.New().Join(t.Context(), deploymentNamed("web"), "m")
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		now := metav1.Now()
		lanes.Landed(inside, "m", time.Minute, []metav1.ManagedFieldsEntry{{Manager: "a", Time: &now}, {Manager: "b", Time: &now}})
		time.Sleep(time.Minute)
		began := time.Now()
		for range 2 {
			if err := lanes.Pace(inside); err != nil || time.Since(began) > 0 {
				t.Errorf("waited for %v, %v", time.Since(began), err)
			}
		}
	})
}

// TestPauseEnds: a pause ends with the context, and the error says why there was a pause.
func TestPauseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		inside, leave, err := lanes.New().Join(ctx, deploymentNamed("web"), "m")
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		now := metav1.Now()
		managed := []metav1.ManagedFieldsEntry{{Manager: "m", Time: &now}, {Manager: "a", Time: &now}, {Manager: "b", Time: &now}, {Manager: "old"}}
		lanes.Landed(inside, "m", time.Millisecond, managed)
		lanes.Landed(inside, "m", time.Minute, managed)
		if err := lanes.Pace(inside); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "web, because other processes are writing") {
			t.Error(err)
		}
	})
}
