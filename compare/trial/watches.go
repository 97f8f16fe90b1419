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
	// missed ends when a watch has missed versions. Its cause is the reason.
	missed context.Context //nolint:containedctx // it lives as long as the watches
	lost   context.CancelCauseFunc
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
	w.missed, w.lost = context.WithCancelCause(context.WithoutCancel(ctx))
	for _, kind := range kinds {
		one := newWatch(client, kind, p.namespace)
		one.lost = w.lost
		err := bounded(ctx, prepareBound, func(ctx context.Context) (err error) {
			one.initial, err = one.list(ctx)
			return err
		})
		if err != nil {
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

// onLost calls stop as soon as a watch has missed versions, which may be at once. With nil, it does nothing.
func (w *watches) onLost(stop func(error)) {
	if stop != nil {
		context.AfterFunc(w.missed, func() { stop(context.Cause(w.missed)) })
	}
}

// stop ends all watches and waits until they have ended.
func (w *watches) stop() {
	w.cancel()
	w.running.Wait()
	w.connection.close()
}
