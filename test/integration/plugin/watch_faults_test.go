package plugin

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

// faultyProxy stands between a command and an API server and spoils watches.
type faultyProxy struct {
	config *rest.Config // to the proxy
	next   http.Handler

	mu      sync.Mutex
	random  *rand.Rand
	cutting bool                                     // each watch breaks after some bytes
	spoil   func(http.ResponseWriter, *http.Request) // answers a watch instead; nil does not
	open    []context.CancelFunc
	watches int
	lists   int
}

func startProxy(t *testing.T, seed uint64) *faultyProxy {
	t.Helper()
	config := kit.Server(t)
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	p := &faultyProxy{random: rand.New(rand.NewPCG(seed, 0))}
	p.next = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
	}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	t.Cleanup(func() { p.set(func() { p.cutting = false; p.breakAll() }) })
	p.config = &rest.Config{Host: s.URL}
	return p
}

func (p *faultyProxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// breakAll breaks the watches that are open. Call it under the lock.
func (p *faultyProxy) breakAll() {
	for _, cancel := range p.open {
		cancel()
	}
	p.open = nil
}

func (p *faultyProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !r.URL.Query().Has("watch") {
		p.set(func() {
			if r.URL.Query().Has("limit") {
				p.lists++
			}
		})
		p.next.ServeHTTP(w, r)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	var spoil func(http.ResponseWriter, *http.Request)
	p.set(func() {
		p.watches++
		spoil = p.spoil
		p.open = append(p.open, cancel)
		if p.cutting {
			w = &cutWriter{ResponseWriter: w, left: 100 + p.random.IntN(6000)}
		}
	})
	if r = r.WithContext(ctx); spoil != nil {
		spoil(w, r)
		return
	}
	p.next.ServeHTTP(w, r)
}

// cutWriter breaks the connection after so many bytes, mostly within an event.
type cutWriter struct {
	http.ResponseWriter

	left int
}

func (w *cutWriter) Write(b []byte) (int, error) {
	if len(b) < w.left {
		w.left -= len(b)
		return w.ResponseWriter.Write(b)
	}
	_, _ = w.ResponseWriter.Write(b[:w.left])
	_ = http.NewResponseController(w.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

func (w *cutWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// watchHistory is what really happens: the writer's own account, from the answers to its
// writes.
type watchHistory struct {
	t         *testing.T
	client    client.Client
	namespace string
	random    *rand.Rand
	live      map[string]*corev1.ConfigMap
	want      []string
	marks     int
}

func newWatchHistory(t *testing.T, seed uint64) *watchHistory {
	c := kit.NewClient(t, kit.Server(t))
	return &watchHistory{t: t, client: c, namespace: kit.NewNamespace(t, c), random: rand.New(rand.NewPCG(seed, 1)), live: map[string]*corev1.ConfigMap{}}
}

// step does one write, by whatever manager in whatever way.
func (h *watchHistory) step() {
	h.t.Helper()
	name := fmt.Sprint("shop-", h.random.IntN(3))
	before := h.live[name]
	switch n := h.random.IntN(12); {
	case before != nil && n == 0:
		h.must(h.client.Delete(h.t.Context(), before))
		delete(h.live, name)
		h.want = append(h.want, fmt.Sprint("deleted ", name, " ", before.UID))
	case before != nil && n < 5:
		after := before.DeepCopy()
		after.Data = h.data()
		h.must(h.client.Update(h.t.Context(), after, client.FieldOwner(h.manager())))
		h.wrote(name, after)
	default:
		config := corev1ac.ConfigMap(name, h.namespace).WithData(h.data())
		h.must(h.client.Apply(h.t.Context(), config, client.FieldOwner(h.manager()), client.ForceOwnership))
		after := &corev1.ConfigMap{}
		h.must(h.client.Get(h.t.Context(), client.ObjectKey{Namespace: h.namespace, Name: name}, after))
		h.wrote(name, after)
	}
}

func (h *watchHistory) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *watchHistory) manager() string { return fmt.Sprint("manager-", h.random.IntN(4)) }

func (h *watchHistory) data() map[string]string {
	data := map[string]string{}
	for _, key := range []string{"a", "b.c", "d", "e"} {
		if h.random.IntN(3) > 0 {
			data[key] = fmt.Sprint(h.random.IntN(3))
		}
	}
	return data
}

func (h *watchHistory) wrote(name string, after *corev1.ConfigMap) {
	h.t.Helper()
	before := h.live[name]
	h.live[name] = after
	h.want = append(h.want, h.between(name, before, after, false)...)
}

// between tells what a watch has to show of one object.
func (h *watchHistory) between(name string, before, after *corev1.ConfigMap, sum bool) []string {
	h.t.Helper()
	mark := ""
	if sum {
		mark = " sum"
	}
	var lines []string
	switch {
	case before == nil && after == nil:
		return nil
	case before == nil || after == nil || before.UID != after.UID:
		if before != nil {
			lines = append(lines, fmt.Sprint("deleted ", name, " ", before.UID, mark))
		}
		if after != nil {
			lines = append(lines, fmt.Sprint("created ", name, " ", after.UID, mark))
		}
		return lines
	}
	x, err := fieldowners.Parse(before.ManagedFields)
	h.must(err)
	y, err := fieldowners.Parse(after.ManagedFields)
	h.must(err)
	d := fieldowners.Diff(x, y)
	for _, m := range d.Moved {
		lines = append(lines, fmt.Sprintf("moved %s %s %s %s -> %s%s", name, after.UID, m.Path, m.From, m.To, mark))
	}
	for _, o := range d.Lost {
		lines = append(lines, fmt.Sprintf("lost %s %s %s %s -> nobody%s", name, after.UID, o.Path, o.Manager, mark))
	}
	for _, o := range d.Gained {
		lines = append(lines, fmt.Sprintf("gained %s %s %s nobody -> %s%s", name, after.UID, o.Path, o.Manager, mark))
	}
	return lines
}

// shown is what the watch printed, in the same words, without its account of itself.
func shown(events []seen) []string {
	var lines []string
	for _, e := range events {
		line := fmt.Sprintf("%s %s %s", e.Type, e.Name, e.UID)
		switch e.Type {
		case "fight", "interrupted":
			continue
		case "moved", "lost", "gained":
			line += fmt.Sprintf(" %s %v -> %v", e.Path, e.From, e.To)
		}
		if e.Sum {
			line += " sum"
		}
		lines = append(lines, line)
	}
	return lines
}

// mark writes another object and waits until the watch has shown it, and with it
// everything before.
func (h *watchHistory) mark(w *watching) {
	h.t.Helper()
	h.marks++
	name := fmt.Sprint("mark-", h.marks)
	h.must(h.client.Apply(h.t.Context(), corev1ac.ConfigMap(name, h.namespace), client.FieldOwner("test")))
	w.wait(h.t, 1, `"`+name+`"`)
}

// end ends the watch when it has shown everything, and compares.
func (h *watchHistory) end(w *watching) {
	h.t.Helper()
	h.mark(w)
	w.interrupt(h.t)
	got := slices.DeleteFunc(shown(w.events(h.t)), func(line string) bool { return strings.Contains(line, " mark-") })
	slices.Sort(got)
	slices.Sort(h.want)
	if diff := cmp.Diff(h.want, got); diff != "" {
		h.t.Errorf("what happened (-) and what was shown (+):\n%s", diff)
	}
}

// TestWatchMissesNothing breaks every connection of the watch, mostly in the middle
// of an event: each single move is shown, once.
func TestWatchMissesNothing(t *testing.T) {
	t.Parallel()
	p, h := startProxy(t, 1), newWatchHistory(t, 1)
	p.set(func() { p.cutting = true })
	w := startWatch(t, p.config, 1, "configmaps", "-n", h.namespace, "-o", "json", "--fights-per-minute", "1000")
	for range 80 {
		h.step()
	}
	h.end(w)
	var watches, lists int
	p.set(func() { watches, lists = p.watches, p.lists })
	if watches < 6 || lists != 1 {
		t.Errorf("%d watches, %d lists: want at least 6 broken ones, and a single list", watches, lists)
	}
	if got := len(h.want); got < 100 {
		t.Errorf("only %d findings: the test shows too little", got)
	}
}
