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
// It uses client-go's RetryWatcher. After an error, a RetryWatcher resumes the watch after the last event, unless the
// API server returns 410 Gone. An informer would list the objects again after most errors, and would miss the changes
// between the error and the new list.
type follower struct {
	Target
	client metadata.ResourceInterface
	report *reporter

	known   map[types.NamespacedName]watched // the last seen state of each object
	version string                           // the resourceVersion of the last change seen
	seen    time.Time                        // when the last change was seen
	outage  *wait.Backoff                    // the back-off while the watch cannot be opened; nil otherwise
	behind  error                            // why changes may be missing; nil if all changes up to now were seen
	giveUp  func(error)                      // ends the watch with an error
}

// watched is the state of an object that a follower keeps in memory: its identity and its ownership, but no values.
type watched struct {
	namespace, name string
	uid             types.UID
	version         string // the resourceVersion
	ownership       fieldowners.Ownership
}

func (f *follower) follow(ctx context.Context) error {
	f.behind = fmt.Errorf("%s: no change was seen: --timeout expired before the objects were listed", f)
	known, version, err := f.list(ctx)
	if err != nil {
		return err
	}
	switch {
	case f.Name != "" && len(known) == 0:
		return apierrors.NewNotFound(f.Resource.GroupResource(), f.Name)
	case version == "":
		return fmt.Errorf("%s: objects of this type cannot be watched: the API server lists them without a resourceVersion", f)
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

// watch reports all changes after the resourceVersion f.version until the watch ends, and returns the
// reason as an error. The error is 410 Gone if the API server no longer has that resourceVersion.
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

// catchUp lists the objects again when the API server no longer has the changes since f.version. It reports the
// differences between the last known and the listed state of each object.
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

// list lists all objects of the target. It reads page by page and keeps only the watched state of each object, so
// that only one page of whole metadata is in memory at a time. version is the resourceVersion of the list.
func (f *follower) list(ctx context.Context) (known map[types.NamespacedName]watched, version string, err error) {
	_, _, err = pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		page, err := f.client.List(ctx, f.options(o))
		if err != nil {
			return nil, err
		}
		if o.Continue == "" { // the first page, or a new list after the continue token expired
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

// patience is the back-off before the watch is opened again. The RetryWatcher adds a delay of one second.
var patience = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 8, Cap: 30 * time.Second}

// WatchWithContext opens a watch for the RetryWatcher. After a failed request, it prints a message and waits for the
// back-off. It converts the response 410 Gone to an event, because the RetryWatcher would otherwise repeat the
// request forever.
func (f *follower) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	w, err := f.client.Watch(ctx, f.options(o))
	if apierrors.IsUnauthorized(err) { // retry once, because a credential plugin renews the credentials after this response
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

// isGone reports whether err says that the API server no longer has the requested resourceVersion.
func isGone(err error) bool { return apierrors.IsGone(err) || apierrors.IsResourceExpired(err) }

// errorEvent returns a watch whose only event is the error err. The RetryWatcher ends at 410 Gone only
// if the error arrives as an event.
func errorEvent(err error) watch.Interface {
	var status apierrors.APIStatus
	errors.As(err, &status)
	events := make(chan watch.Event, 1)
	events <- watch.Event{Type: watch.Error, Object: new(status.Status())}
	return watch.NewProxyWatcher(events)
}

// lost handles a failed watch or list request. It waits for the back-off, and reports whether to retry the request.
// It prints a message only for the first of several failures in a row.
func (f *follower) lost(ctx context.Context, err error) bool {
	if ctx.Err() != nil || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return false
	}
	if f.outage == nil {
		f.outage = new(patience)
		f.behind = fmt.Errorf("%s: the watch was still interrupted at the end, so changes may be missing: %w", f, err)
		f.report.say("%s: the watch is interrupted and will be retried: %v", f, err)
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
		f.report.say("%s: the watch continues", f)
	}
	f.outage, f.behind = nil, nil
}
