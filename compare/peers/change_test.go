package peers

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/compare/target"
)

// reached is the share of the goodput with the best fixed width that lanes must reach again after a change.
const reached = 0.85

// BenchmarkChange changes the round-trip time from 0 to 5 ms and back to 0, while 16 writers of four field managers apply to
// one ConfigMap in lanes. After each change, it measures the time until the first second with enough goodput begins. It
// ignores -benchtime.
func BenchmarkChange(b *testing.B) {
	on := controlPlane(b)
	during := 8 * time.Second
	if testing.Short() {
		during = time.Second
	}
	trips := []time.Duration{0, 5 * time.Millisecond, 0}
	best := map[time.Duration]float64{}
	for width := 1; width <= 4; width++ {
		for i, landed := range inLanes(b, on, lanes.OfWidth(width), trips[:2], during/2) {
			best[trips[i]] = max(best[trips[i]], rate(landed, during/4, during/2))
		}
	}
	for i, landed := range inLanes(b, on, lanes.New(), trips, during) {
		if i == 0 {
			continue
		}
		from := time.Duration(0)
		for from+time.Second <= during && rate(landed, from, from+time.Second) < reached*best[trips[i]] {
			from += 100 * time.Millisecond
		}
		b.ReportMetric(from.Seconds(), fmt.Sprintf("s-to-%s", trips[i]))
	}
	b.ReportMetric(0, "ns/op") // depends only on the lengths of the measurements
}

// rate returns the number of applies per second in a part of a measurement.
func rate(landed []time.Duration, from, to time.Duration) float64 {
	n := 0
	for _, at := range landed {
		if at >= from && at < to {
			n++
		}
	}
	return float64(n) / (to - from).Seconds()
}

// inLanes makes the writers apply over one round-trip time after the other, for the given time each. For each round-trip
// time, it returns when the applies landed.
func inLanes(b *testing.B, on *target.Target, shared *lanes.Set, trips []time.Duration, each time.Duration) (landed [][]time.Duration) {
	b.Helper()
	var way distant
	config := on.User()
	config.Wrap(way.wrap)
	config.Wrap(apply.RecordExchange)
	c, err := client.New(config, client.Options{})
	fatal(b, err)
	name := fmt.Sprintf("changing-%d", time.Now().UnixNano())
	running, stop := context.WithCancel(b.Context())
	var mu sync.Mutex
	var began time.Time
	var all sync.WaitGroup
	for i := range 16 {
		manager := fmt.Sprintf("m%d", i%4)
		applier, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: c, Lanes: shared})
		fatal(b, err)
		all.Go(func() {
			for n := 0; running.Err() == nil; n++ {
				wanted := corev1ac.ConfigMap(name, on.Namespace()).WithData(map[string]string{manager: fmt.Sprintf("w%d-%d", i, n)})
				_, err := applier.Apply(running, apply.Intent{Config: wanted})
				mu.Lock()
				if trip := len(landed) - 1; err == nil && trip >= 0 {
					landed[trip] = append(landed[trip], time.Since(began))
				} else if err != nil && running.Err() == nil {
					b.Error(err)
					stop()
				}
				mu.Unlock()
			}
		})
	}
	for _, trip := range trips {
		way.trip.Store(int64(trip))
		mu.Lock()
		began, landed = time.Now(), append(landed, nil)
		mu.Unlock()
		time.Sleep(each)
	}
	stop()
	all.Wait()
	return landed
}

// distant adds a round-trip time to each request, half before and half after the request.
type distant struct {
	trip atomic.Int64 // in nanoseconds
}

func (d *distant) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		half := time.Duration(d.trip.Load()) / 2
		time.Sleep(half)
		response, err := next.RoundTrip(request)
		time.Sleep(half)
		return response, err
	})
}
