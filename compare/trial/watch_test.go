package trial

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/compare"
	"coapply.dev/compare/history"
)

var configMapKind = compare.Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Resource: "configmaps"}

// tracked are the data of objects whose name begins with t.
func tracked(o *unstructured.Unstructured) (map[string]string, error) {
	if !strings.HasPrefix(o.GetName(), "t") {
		return nil, nil
	}
	data, _, err := unstructured.NestedStringMap(o.Object, "data")
	return data, err
}

func (f *fakeServer) watches(t *testing.T) *watches {
	t.Helper()
	w, err := startWatches(t.Context(), f.place(), []compare.Kind{configMapKind})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.stop)
	return w
}

func await(t *testing.T, w *watches, revision uint64) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	return w.all[0].await(ctx, revision)
}

func version(name string, revision uint64, value string) history.Version {
	return history.Version{Object: "ConfigMap/n/" + name, Revision: revision, Fields: map[string]string{"f": value}}
}

func TestAWatchThatMissedSomethingSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		stream func(http.ResponseWriter, string)
		want   string
	}{
		"410 as the answer": {func(w http.ResponseWriter, _ string) {
			w.WriteHeader(http.StatusGone)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old"}`)
		}, "too old"},
		"410 as an event": {func(w http.ResponseWriter, _ string) {
			fmt.Fprint(w, line("ERROR", `{"kind":"Status","code":410,"message":"too old"}`))
		}, "too old"},
		"an end in the middle of a line": {func(w http.ResponseWriter, _ string) {
			fmt.Fprint(w, line("ADDED", configMap("t1", 3, "a"))[:20])
		}, "missed versions"},
		"a line that is no event": {func(w http.ResponseWriter, _ string) { fmt.Fprint(w, "garbage\n") }, "parsing an event"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeServer(t)
			f.stream = c.stream
			w := f.watches(t)
			lost := make(chan error, 1)
			w.onLost(func(err error) { lost <- err })
			err := await(t, w, 5)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "configmaps") {
				t.Errorf("error %v, want one of configmaps with %q", err, c.want)
			}
		})
	}
}

func TestAnEventThatNeverComesIsAGap(t *testing.T) {
	w := newFakeServer(t).watches(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := w.all[0].await(ctx, 9); err == nil || !strings.Contains(err.Error(), "revision 9") {
		t.Errorf("error %v", err)
	}
}

func TestVersionsOfAllKindsAreInOrder(t *testing.T) {
	pods := configMapKind
	pods.Kind = "Pod"
	w := &watches{all: []*watch{
		{kind: configMapKind, lines: [][]byte{
			[]byte(line("ADDED", configMap("t1", 3, "a"))), []byte(line("BOOKMARK", `{"metadata":{"resourceVersion":"9"}}`)),
			[]byte(line("MODIFIED", configMap("t1", 5, "b"))),
		}},
		{kind: pods, lines: [][]byte{
			[]byte(line("ADDED", configMap("t2", 4, "c"))), []byte(line("ADDED", configMap("x", 6, "c"))),
			[]byte(line("DELETED", configMap("t2", 7, "c"))),
		}},
	}}
	seen, initial, err := w.read(tracked)
	if err != nil {
		t.Fatal(err)
	}
	want := []history.Version{
		version("t1", 3, "a"), {Object: "Pod/n/t2", Revision: 4, Fields: map[string]string{"f": "c"}}, version("t1", 5, "b"),
		{Object: "Pod/n/t2", Revision: 7, Deleted: true},
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if n := len(seen) - initial; n != 4 {
		t.Errorf("%d revisions, want 4", n)
	}
}

// A watch may be lost before the writers begin.
func TestALossIsToldLater(t *testing.T) {
	w := &watches{}
	w.missed, w.lost = context.WithCancelCause(t.Context())
	first := errors.New("first")
	w.lost(first)
	w.lost(errors.New("second"))
	told := make(chan error)
	w.onLost(func(err error) { told <- err })
	if err := <-told; !errors.Is(err, first) {
		t.Errorf("told %v", err)
	}
}
