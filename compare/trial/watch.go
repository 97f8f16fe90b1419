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

// watch keeps every version of the objects of one kind, as the lines that the API server sent: reading them is left for
// after the trial, so that the writers have the machine.
type watch struct {
	kind   compare.Kind
	path   string
	client rest.Interface
	// initial are the objects that stood when the watch began, from is the list's resourceVersion.
	initial []json.RawMessage
	from    string
	// lost is called once if the watch missed something.
	lost func(error)

	mu      sync.Mutex
	lines   [][]byte
	bytes   int
	changed chan struct{} // closed and renewed with each line and with the gap
	gap     error
}

// objectList is what a list of any kind has in common.
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
		return list, fmt.Errorf("listing %s: the answer is no list: %w", w.kind.Resource, err)
	}
	return list, nil
}

// begin reads what stands. What is written after it returns is seen by follow.
func (w *watch) begin(ctx context.Context) error {
	list, err := w.list(ctx)
	w.initial, w.from = list.Items, list.Metadata.ResourceVersion
	return err
}

const (
	// watchPatience is how long a watch tries to connect again; the API server keeps what it missed for longer.
	watchPatience = 5 * time.Second
	// watchMemory bounds what a watch keeps until the trial is over.
	watchMemory = 512 << 20
)

// follow watches until the context ends or something was missed.
func (w *watch) follow(ctx context.Context) {
	var failing time.Time // since when there is no connection
	for ctx.Err() == nil {
		err := w.stream(ctx)
		if err == nil {
			failing = time.Time{}
		} else if failing.IsZero() {
			failing = time.Now()
		}
		if err = w.judge(err, failing); err != nil && ctx.Err() == nil {
			w.miss(fmt.Errorf("the watch of %s missed something: %w", w.kind.Resource, err))
			return
		}
		_ = sleep(ctx, 50*time.Millisecond) // the loop's condition tells
	}
}

// stream keeps lines until the stream ends. A line that was cut off is left out: the next stream brings it in full.
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
			return nil // streams end: the server closes them, and connections break
		}
		if w.add(line); w.bytes > watchMemory {
			return &hopelessError{fmt.Errorf("it came to %d MiB: use smaller objects or a shorter trial", watchMemory>>20)}
		}
	}
}

// hopelessError is one that connecting again does not heal.
type hopelessError struct{ error }

// judge returns the error that makes following on impossible.
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
	w.bytes += len(line)
	w.tell()
}

func (w *watch) miss(gap error) {
	w.mu.Lock()
	w.gap = gap
	w.tell()
	w.mu.Unlock()
	w.lost(gap)
}

// tell wakes who awaits something; the caller holds the lock.
func (w *watch) tell() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// reached is the resourceVersion up to which everything has been seen.
func (w *watch) reached() (string, error) {
	w.mu.Lock()
	lines := w.lines
	w.mu.Unlock()
	if len(lines) == 0 {
		return w.from, nil
	}
	last, err := parseEvent(lines[len(lines)-1])
	if err == nil && last.Type == "ERROR" { // such as 410 for a resourceVersion that is too old: it ends a stream
		err = fmt.Errorf("the API server ended it: %s", bytes.TrimSpace(last.Object))
	}
	if err != nil {
		return "", err
	}
	return last.revision()
}

// await returns when everything up to a revision has been seen, or was missed.
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
			return fmt.Errorf("the watch of %s: %w", w.kind.Resource, err)
		}
		if reached, err := strconv.ParseUint(text, 10, 64); err == nil && reached >= revision {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the watch of %s did not come to revision %d, but to %s only", w.kind.Resource, revision, text)
		}
	}
}
