package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
)

// patience is the wait between tries; RetryWatcher itself waits a second.
var patience = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 8, Cap: 30 * time.Second}

// WatchWithContext opens a watch for the RetryWatcher, which itself would try again every
// second silently, and for ever if 410 is the answer instead of an event.
func (f *follower) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	w, err := f.client.Watch(ctx, f.options(o))
	if apierrors.IsUnauthorized(err) { // a credential plugin has new ones after that
		w, err = f.client.Watch(ctx, f.options(o))
	}
	switch {
	case err == nil:
		f.found()
	case isGone(err):
		return errorEvent(err), nil
	case apierrors.IsMethodNotSupported(err):
		f.giveUp(err)
	default:
		f.lost(ctx, err)
	}
	return w, err
}

// isGone reports whether the API server has forgotten the version that was asked for.
func isGone(err error) bool { return apierrors.IsGone(err) || apierrors.IsResourceExpired(err) }

// errorEvent returns a watch whose only event is the error, which is the usual form of a 410.
func errorEvent(err error) watch.Interface {
	var status apierrors.APIStatus
	errors.As(err, &status)
	events := make(chan watch.Event, 1)
	events <- watch.Event{Type: watch.Error, Object: new(status.Status())}
	return watch.NewProxyWatcher(events)
}

// lost prints, once, that the watch is interrupted, waits, and reports whether to try again.
func (f *follower) lost(ctx context.Context, err error) bool {
	if ctx.Err() != nil || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return false
	}
	if f.outage == nil {
		f.outage = new(patience)
		f.behind = fmt.Errorf("%s: the watch was interrupted at the end: %w", f, err)
		f.report.say("%s: the watch is interrupted, trying to go on: %v", f, err)
	}
	timer := time.NewTimer(f.outage.Step())
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (f *follower) found() {
	if f.outage != nil {
		f.report.say("%s: the watch goes on", f)
	}
	f.outage, f.behind = nil, nil
}

// keysOf returns the names of the objects in both, sorted.
func keysOf(x, y map[types.NamespacedName]watched) []types.NamespacedName {
	both := maps.Clone(x)
	maps.Copy(both, y)
	return slices.SortedFunc(maps.Keys(both), func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}
