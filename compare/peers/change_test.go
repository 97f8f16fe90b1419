package peers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/compare/target"
)

// BenchmarkChange measures once how long it takes until the goodput is what it can be when the round trip changes while writers
// write.
func BenchmarkChange(b *testing.B) {
	on, err := target.Local(b.Context(), b.Output())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := on.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	during := 8 * time.Second
	if testing.Short() {
		during = time.Second
	}
	took, err := measureChanges(b, on, during)
	if err != nil {
		b.Fatal(err)
	}
	for i, after := range took {
		b.ReportMetric(after.Seconds(), fmt.Sprintf("s-to-%s", changes[i+1]))
	}
}

// reached is the share of the best fixed width's goodput that is to be reached again.
const reached = 0.85

// changing is how many writers write meanwhile, and to what the round trip changes.
const changingWriters, changingManagers = 16, 4

var changes = []time.Duration{0, 5 * time.Millisecond, 0}

// measureChanges has the round trip change, in lanes whose width follows it, and compares with lanes of each fixed width. It
// returns how long it took each time until a second began in which the goodput was reached.
func measureChanges(b *testing.B, t *target.Target, during time.Duration) (took []time.Duration, err error) {
	b.Helper()
	best := map[time.Duration]float64{}
	for _, width := range []int{1, 2, 3, 4} {
		phases, err := write(b.Context(), t, lanes.OfWidth(width), changes[:2], during/2)
		if err != nil {
			return nil, err
		}
		for i, at := range phases {
			best[changes[i]] = max(best[changes[i]], rate(at, during/4, during/2))
		}
	}
	phases, err := write(b.Context(), t, lanes.New(), changes, during)
	if err != nil {
		return nil, err
	}
	for i := 1; i < len(phases); i++ {
		took = append(took, until(phases[i], reached*best[changes[i]], during))
		b.Logf("round trip changed to +%s: %s until %.2g of %.1f/s, at the end %.1f/s", changes[i],
			took[i-1], reached, best[changes[i]], rate(phases[i], during/2, during))
	}
	return took, nil
}

// rate is that of what was done from one time to another.
func rate(done []time.Duration, from, to time.Duration) float64 {
	n := 0
	for _, at := range done {
		if at >= from && at < to {
			n++
		}
	}
	return float64(n) / (to - from).Seconds()
}

// until is when the first second begins in which a rate is kept, or the end.
func until(done []time.Duration, wanted float64, end time.Duration) time.Duration {
	const step = 100 * time.Millisecond
	for from := time.Duration(0); from+time.Second <= end; from += step {
		if rate(done, from, from+time.Second) >= wanted {
			return from
		}
	}
	return end
}

// write has writers apply to one ConfigMap, over one round trip after another, and returns when they were done in each.
func write(ctx context.Context, t *target.Target, shared *lanes.Set, trips []time.Duration, each time.Duration) (done [][]time.Duration, err error) {
	var way distant
	config := t.User()
	config.Wrap(way.wrap)
	config.Wrap(apply.RecordExchange)
	c, err := client.New(config, client.Options{})
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("changing-%d", time.Now().UnixNano())
	defer func() {
		err = errors.Join(err, c.Delete(context.WithoutCancel(ctx), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: t.Namespace(), Name: name}}))
	}()
	running, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	var began time.Time
	var trouble error
	landed := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if n := len(done); err == nil && n > 0 {
			done[n-1] = append(done[n-1], time.Since(began))
		} else if err != nil && running.Err() == nil {
			trouble = err
			stop()
		}
	}
	var all sync.WaitGroup
	for i := range changingWriters {
		manager := fmt.Sprintf("m%d", i%changingManagers)
		applier, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: c, Lanes: shared})
		if err != nil {
			return nil, err
		}
		all.Go(func() {
			for n := 0; running.Err() == nil; n++ {
				wanted := corev1ac.ConfigMap(name, t.Namespace()).WithData(map[string]string{manager: fmt.Sprintf("w%d-%d", i, n)})
				_, err := applier.Apply(running, apply.Intent{Config: wanted})
				landed(err)
			}
		})
	}
	for _, trip := range trips {
		way.trip.Store(int64(trip))
		mu.Lock()
		began, done = time.Now(), append(done, nil)
		mu.Unlock()
		select {
		case <-time.After(each):
		case <-running.Done():
		}
	}
	stop()
	all.Wait()
	return done, errors.Join(trouble, ctx.Err())
}

// distant adds a round trip to each request, half before it and half after.
type distant struct {
	trip atomic.Int64 // nanoseconds
	next http.RoundTripper
}

func (d *distant) wrap(next http.RoundTripper) http.RoundTripper {
	d.next = next
	return d
}

// RoundTrip implements http.RoundTripper.
func (d *distant) RoundTrip(request *http.Request) (*http.Response, error) {
	half := time.Duration(d.trip.Load()) / 2
	time.Sleep(half)
	response, err := d.next.RoundTrip(request)
	time.Sleep(half)
	return response, err
}
