package trial

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"coapply.dev/compare"
)

// watch stores every version of the objects of one kind, as unparsed lines from the API server. The lines are parsed
// only after the trial, so that the writers have all CPU time.
type watch struct {
	kind   compare.Kind
	path   string
	client rest.Interface
	// initial are the objects that existed when the watch began.
	initial metav1.List
	// lost is called once if the watch misses versions.
	lost func(error)

	mu    sync.Mutex
	lines [][]byte
	gap   error
}

func newWatch(client rest.Interface, kind compare.Kind, namespace string) *watch {
	path := "/apis/" + kind.GroupVersion().String()
	if kind.Group == "" {
		path = "/api/" + kind.Version
	}
	if !kind.Cluster {
		path += "/namespaces/" + namespace
	}
	return &watch{kind: kind, path: path + "/" + kind.Resource, client: client}
}

func (w *watch) list(ctx context.Context) (list metav1.List, err error) {
	body, err := w.client.Get().AbsPath(w.path).Do(ctx).Raw()
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	if err != nil {
		return list, fmt.Errorf("listing %s: %w", w.kind.Resource, err)
	}
	return list, nil
}

// follow runs the watch until the context ends. If the watch ends earlier, versions are missed: the API server lets a
// watch run for half an hour at least, so it does not connect again.
func (w *watch) follow(ctx context.Context) {
	if err := w.stream(ctx); ctx.Err() == nil {
		err = fmt.Errorf("the watch of %s missed versions of objects: %w", w.kind.Resource, err)
		w.mu.Lock()
		w.gap = err
		w.mu.Unlock()
		w.lost(err)
	}
}

// stream stores the lines of the watch until it ends, and returns the reason.
func (w *watch) stream(ctx context.Context) error {
	body, err := w.client.Get().AbsPath(w.path).Param("watch", "true").Param("allowWatchBookmarks", "true").
		Param("resourceVersion", w.initial.ResourceVersion).Stream(ctx)
	if err != nil {
		return err
	}
	defer body.Close()
	lines := bufio.NewReaderSize(body, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		w.mu.Lock()
		w.lines = append(w.lines, line)
		w.mu.Unlock()
	}
}

// reached returns the resourceVersion up to which the watch has seen all events, and the reason if it has ended.
func (w *watch) reached() (version string, gap, err error) {
	w.mu.Lock()
	lines, gap := w.lines, w.gap
	w.mu.Unlock()
	if len(lines) == 0 {
		return w.initial.ResourceVersion, gap, nil
	}
	last, err := parseEvent(lines[len(lines)-1])
	if err != nil {
		return "", gap, err
	}
	if last.Type == "ERROR" { // such as 410 for a resourceVersion that is too old
		return "", gap, fmt.Errorf("the API server ended the watch: %s", bytes.TrimSpace(last.Object.Raw))
	}
	var object metav1.PartialObjectMetadata
	err = json.Unmarshal(last.Object.Raw, &object)
	return object.ResourceVersion, gap, err
}

// await waits until the watch has seen all events up to a revision. It returns an error if the watch has missed versions.
func (w *watch) await(ctx context.Context, revision uint64) error {
	for {
		text, gap, err := w.reached()
		if err != nil {
			return fmt.Errorf("reading the last event from the watch of %s: %w", w.kind.Resource, err)
		}
		if reached, err := strconv.ParseUint(text, 10, 64); err == nil && reached >= revision {
			return nil
		}
		if gap != nil {
			return gap
		}
		if sleep(ctx, 2*time.Millisecond) != nil {
			return fmt.Errorf("the watch of %s did not reach revision %d: its last event has revision %s", w.kind.Resource, revision, text)
		}
	}
}
