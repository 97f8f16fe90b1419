package trial

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"k8s.io/client-go/rest"

	"coapply.dev/compare"
)

// watches are those of all kinds of a trial, on a connection of their own.
type watches struct {
	all        []*watch
	connection *connection
	cancel     context.CancelFunc
	running    sync.WaitGroup

	mu     sync.Mutex
	missed error       // the first
	stops  func(error) // ends the trial early
}

// startWatches returns when every later write will be seen.
func startWatches(ctx context.Context, p place, kinds []compare.Kind) (*watches, error) {
	c, err := connect(p.admin, nil, func(next http.RoundTripper) http.RoundTripper { return next })
	if err != nil {
		return nil, fmt.Errorf("client of the watch: %w", err)
	}
	c.config.NegotiatedSerializer = codecs
	client, err := rest.UnversionedRESTClientForConfigAndClient(c.config, c.http)
	if err != nil {
		return nil, fmt.Errorf("client of the watch: %w", err)
	}
	w := &watches{connection: c}
	for _, kind := range kinds {
		one := newWatch(client, kind, p.namespace)
		one.lost = w.lost
		if err := bounded(ctx, prepareBound, one.begin); err != nil {
			c.close()
			return nil, err
		}
		w.all = append(w.all, one)
	}
	// The watch goes on when the trial is interrupted, until what was written then has been seen.
	following, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w.cancel = cancel
	for _, one := range w.all {
		w.running.Go(func() { one.follow(following) })
	}
	return w, nil
}

// onLost has stop called if a watch misses something, or has done so already; nil is nobody to call.
func (w *watches) onLost(stop func(error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stops = stop
	if stop != nil && w.missed != nil {
		stop(w.missed)
	}
}

func (w *watches) lost(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.missed == nil {
		w.missed = err
	}
	if w.stops != nil {
		w.stops(err)
	}
}

// stop returns when nothing watches any more.
func (w *watches) stop() {
	w.cancel()
	w.running.Wait()
	w.connection.close()
}
