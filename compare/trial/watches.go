package trial

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"k8s.io/client-go/rest"

	"coapply.dev/compare"
)

// watches contains one watch for each kind of a trial. The watches share a connection of their own.
type watches struct {
	all        []*watch
	connection *connection
	cancel     context.CancelFunc
	running    sync.WaitGroup

	mu     sync.Mutex
	missed error       // the first reason why a watch missed versions
	stops  func(error) // ends the trial early
}

// startWatches starts the watches. When it returns, no later write can be missed.
func startWatches(ctx context.Context, p place, kinds []compare.Kind) (*watches, error) {
	c, err := connect(p.admin, func(next http.RoundTripper) http.RoundTripper { return next })
	if err != nil {
		return nil, fmt.Errorf("making the HTTP client of the watches: %w", err)
	}
	c.config.NegotiatedSerializer = codecs
	client, err := rest.UnversionedRESTClientForConfigAndClient(c.config, c.http)
	if err != nil {
		return nil, fmt.Errorf("making the REST client of the watches: %w", err)
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
	// If the trial is interrupted, the watches continue until they have seen the writes made so far.
	following, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w.cancel = cancel
	for _, one := range w.all {
		w.running.Go(func() { one.follow(following) })
	}
	return w, nil
}

// onLost sets the function that is called if a watch misses versions, or removes it if stop is nil. If a watch has
// already missed versions, onLost calls stop at once.
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

// stop ends all watches and waits until they have ended.
func (w *watches) stop() {
	w.cancel()
	w.running.Wait()
	w.connection.close()
}
