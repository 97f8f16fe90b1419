package trial

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"coapply.dev/compare"
)

// watch stores every version of the objects of one kind, as unparsed lines from the API server. The lines are parsed
// only after the trial, so that the writers have all CPU time.
type watch struct {
	kind   compare.Kind
	path   string
	client rest.Interface
	// initial are the objects that existed when the watch began; from is the resourceVersion of this list.
	initial []json.RawMessage
	from    string
	// lost is called once if the watch misses versions.
	lost func(error)

	mu      sync.Mutex
	lines   [][]byte
	changed chan struct{} // closed and replaced when a line is added or gap is set
	gap     error
}

// objectList is a list response for objects of any kind.
type objectList struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

func newWatch(client rest.Interface, kind compare.Kind, namespace string) *watch {
	path := "/apis/" + kind.Group
	if kind.Group == "" {
		path = "/api"
	}
	path += "/" + kind.Version
	if !kind.Cluster {
		path += "/namespaces/" + namespace
	}
	return &watch{kind: kind, path: path + "/" + kind.Resource, client: client, changed: make(chan struct{})}
}

func (w *watch) list(ctx context.Context) (objectList, error) {
	var list objectList
	body, err := w.client.Get().AbsPath(w.path).Do(ctx).Raw()
	if err != nil {
		return list, fmt.Errorf("listing %s: %w", w.kind.Resource, err)
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return list, fmt.Errorf("listing %s: parsing the list: %w", w.kind.Resource, err)
	}
	return list, nil
}

// begin lists the existing objects. The function follow sees all later writes.
func (w *watch) begin(ctx context.Context) error {
	list, err := w.list(ctx)
	w.initial, w.from = list.Items, list.Metadata.ResourceVersion
	return err
}

// watchPatience is the maximum time for which a watch tries to reconnect. The API server stores events for longer.
const watchPatience = 5 * time.Second

// follow runs the watch until the context ends or the watch misses versions.
func (w *watch) follow(ctx context.Context) {
	var failing time.Time // the time since which connecting fails
	for ctx.Err() == nil {
		err := w.stream(ctx)
		if err == nil {
			failing = time.Time{}
		} else if failing.IsZero() {
			failing = time.Now()
		}
		if err = w.judge(err, failing); err != nil && ctx.Err() == nil {
			w.miss(fmt.Errorf("the watch of %s missed versions of objects: %w", w.kind.Resource, err))
			return
		}
		_ = sleep(ctx, 50*time.Millisecond) // the loop notices the end of ctx
	}
}

// stream stores the lines of one watch request until it ends. An incomplete last line is ignored: the next request gets the
// event again.
func (w *watch) stream(ctx context.Context) error {
	from, err := w.reached()
	if err != nil {
		return &hopelessError{err}
	}
	body, err := w.client.Get().AbsPath(w.path).Param("watch", "true").Param("allowWatchBookmarks", "true").
		Param("resourceVersion", from).Stream(ctx)
	if err != nil {
		return err
	}
	defer body.Close()
	lines := bufio.NewReaderSize(body, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil // not an error: the server ends watches, and connections may break
		}
		w.add(line)
	}
}

// hopelessError is an error that reconnecting cannot solve.
type hopelessError struct{ error }

// judge returns the given error, or nil if the watch can reconnect. failing is the time of the first failed attempt.
func (w *watch) judge(err error, failing time.Time) error {
	_, hopeless := errors.AsType[*hopelessError](err)
	if hopeless || err != nil && (apierrors.IsGone(err) || apierrors.IsResourceExpired(err) || time.Since(failing) > watchPatience) {
		return err
	}
	return nil
}

func (w *watch) add(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, line)
	w.tell()
}

func (w *watch) miss(gap error) {
	w.mu.Lock()
	w.gap = gap
	w.tell()
	w.mu.Unlock()
	w.lost(gap)
}

// tell wakes the goroutines in await. The caller must hold the lock.
func (w *watch) tell() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// reached returns the resourceVersion up to which the watch has seen all events.
func (w *watch) reached() (string, error) {
	w.mu.Lock()
	lines := w.lines
	w.mu.Unlock()
	if len(lines) == 0 {
		return w.from, nil
	}
	last, err := parseEvent(lines[len(lines)-1])
	if err == nil && last.Type == "ERROR" { // such as 410 for a resourceVersion that is too old
		err = fmt.Errorf("the API server ended the watch: %s", bytes.TrimSpace(last.Object))
	}
	if err != nil {
		return "", err
	}
	return last.revision()
}

// await waits until the watch has seen all events up to a revision. It returns an error if the watch has missed versions.
func (w *watch) await(ctx context.Context, revision uint64) error {
	for {
		w.mu.Lock()
		changed, gap := w.changed, w.gap
		w.mu.Unlock()
		if gap != nil {
			return gap
		}
		text, err := w.reached()
		if err != nil {
			return fmt.Errorf("reading the last event from the watch of %s: %w", w.kind.Resource, err)
		}
		if reached, err := strconv.ParseUint(text, 10, 64); err == nil && reached >= revision {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the watch of %s did not reach revision %d: its last event has revision %s", w.kind.Resource, revision, text)
		}
	}
}
