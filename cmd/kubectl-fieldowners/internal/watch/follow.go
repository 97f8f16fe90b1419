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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/pager"
	watchtools "k8s.io/client-go/tools/watch"

	"coapply.dev/fieldowners"
)

// follower lists and watches one target.
//
// It does so with client-go's RetryWatcher, which opens a broken watch again at the
// resourceVersion of the last event, whatever broke it, and ends at 410 Gone. An informer
// passes each event to its handler too (DeltaFIFO merges only deletions), but its Reflector
// lists anew after most errors: changes in between would be lost silently, although the API
// server still had them.
type follower struct {
	Target
	client metadata.ResourceInterface
	report *reporter

	known   map[types.NamespacedName]watched
	version string        // up to which everything was seen
	seen    time.Time     // when version was seen
	outage  *wait.Backoff // waits since the watch cannot be opened; nil while it is open
	behind  error         // why the watch is interrupted; nil if it is not
	giveUp  func(error)   // ends the watch
}

// watched is what is kept of an object: its ownership, and no values.
type watched struct {
	namespace, name string
	uid             types.UID
	version         string
	ownership       fieldowners.Ownership
}

func (f *follower) follow(ctx context.Context) error {
	f.behind = fmt.Errorf("%s: nothing was seen: the time was over first", f)
	known, version, err := f.list(ctx)
	if err != nil {
		return err
	}
	switch {
	case f.Name != "" && len(known) == 0:
		return apierrors.NewNotFound(f.Resource.GroupResource(), f.Name)
	case version == "":
		return fmt.Errorf("%s: objects of this type cannot be watched: the API server gives them no resourceVersion", f)
	}
	f.known, f.version, f.seen, f.behind = known, version, time.Now(), nil
	f.report.say("watching %s, objects now: %d", f, len(known))
	for {
		if err := f.watch(ctx); !isGone(err) {
			return err
		}
		if err := f.catchUp(ctx); err != nil {
			return err
		}
	}
}

// watch reports changes after f.version until the API server no longer has that version.
func (f *follower) watch(ctx context.Context) error {
	ctx, f.giveUp = context.WithCancelCause(ctx)
	defer f.giveUp(nil)
	w, err := watchtools.NewRetryWatcherWithContext(ctx, f.version, f)
	if err != nil {
		return err
	}
	defer func() { w.Stop(); <-w.Done() }()
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			return apierrors.FromObject(event.Object)
		}
		object, ok := event.Object.(*metav1.PartialObjectMetadata)
		if !ok {
			return fmt.Errorf("%s: the API server sent %T instead of metadata", f, event.Object)
		}
		if err := f.see(event.Type, object); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%s: the watch ended without a reason", f)
}

func (f *follower) see(event watch.EventType, object *metav1.PartialObjectMetadata) error {
	step := change{target: f.Target, at: time.Now()}
	key := types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
	if before, was := f.known[key]; was {
		step.before = &before
	}
	after := f.read(object)
	if event == watch.Deleted {
		delete(f.known, key)
		if step.before != nil {
			step.before.version = after.version
		}
	} else {
		f.known[key] = after
		step.after = &after
	}
	f.version, f.seen = object.ResourceVersion, step.at
	return f.report.step(step)
}

// catchUp lists anew, as the API server no longer has the changes since f.version, and reports
// the difference.
func (f *follower) catchUp(ctx context.Context) error {
	var known map[types.NamespacedName]watched
	var version string
	for {
		var err error
		if known, version, err = f.list(ctx); err == nil {
			break
		}
		if !f.lost(ctx, err) {
			return err
		}
	}
	f.found()
	now := time.Now()
	if err := f.report.interrupted(f.Target, f.version, f.seen, version, now); err != nil {
		return err
	}
	both := maps.Clone(f.known)
	maps.Copy(both, known)
	for _, key := range slices.SortedFunc(maps.Keys(both), func(a, b types.NamespacedName) int { return cmp.Compare(a.String(), b.String()) }) {
		step := change{target: f.Target, at: now, sum: true}
		if before, was := f.known[key]; was {
			step.before = &before
		}
		if after, is := known[key]; is {
			step.after = &after
		}
		if err := f.report.step(step); err != nil {
			return err
		}
	}
	f.known, f.version, f.seen = known, version, now
	return nil
}

// list lists all objects, and keeps one page of them in memory at a time.
func (f *follower) list(ctx context.Context) (known map[types.NamespacedName]watched, version string, err error) {
	_, _, err = pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		page, err := f.client.List(ctx, f.options(o))
		if err != nil {
			return nil, err
		}
		if o.Continue == "" { // the first page, or all objects where the server has forgotten the first page's version
			known = map[types.NamespacedName]watched{}
		}
		for i := range page.Items {
			object := &page.Items[i]
			known[types.NamespacedName{Namespace: object.Namespace, Name: object.Name}] = f.read(object)
		}
		version, page.Items = page.ResourceVersion, nil
		return page, nil
	}).List(ctx, metav1.ListOptions{})
	return known, version, err
}

func (f *follower) read(object *metav1.PartialObjectMetadata) watched {
	w := watched{namespace: object.Namespace, name: object.Name, uid: object.UID, version: object.ResourceVersion}
	ownership, unread := fieldowners.ParseReadable(object.ManagedFields)
	w.ownership = ownership
	for _, entry := range unread {
		f.report.unread(f.Target.object(w), entry)
	}
	return w
}

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
