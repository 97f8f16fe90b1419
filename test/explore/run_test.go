package explore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
	"coapply.dev/apply/applytest"
)

// run is one execution of a World.
type run struct {
	world     *World
	server    *applytest.Server
	namespace string // of this run alone, as all runs share the server
	actors    []*actor
	processes map[string]*Process

	mu      sync.Mutex
	events  []event  // all writes, in the order in which the API server handled them
	taken   []string // the steps so far
	faulted bool
	settled bool  // the actors have ended, and requests no longer stop
	sent    int   // the number of requests that did not stop
	wrong   error // the first violation of an invariant
}

// event is a write that changed an object.
type event struct {
	name string
	now  *unstructured.Unstructured // nil after a delete
}

// actor is a goroutine that runs the function of an Actor.
type actor struct {
	Actor

	run    *run
	cancel context.CancelFunc
	ended  bool
	asks   *request // the request that waits for the explorer's choice
	saw    []string // the responses that the actor got, and its reads of the cache
	judged []judgement
	began  int // the number of events at Self.Begin
}

// request is a request of an actor that has stopped.
type request struct {
	text   string // names the request in a state, and to people
	writes bool
	resume chan verdict
}

type verdict int

const (
	handle verdict = iota
	loseRequest
	loseResponse
	crashBefore
	crashAfter
)

var suffixes = map[verdict]string{handle: "", loseRequest: "?", loseResponse: "~", crashBefore: "!", crashAfter: "^"}

type actorKey struct{}

// maxSteps is more than any schedule has if each actor ends.
const maxSteps = 80

// start begins a run. Each actor stops before its first statement.
func (w *World) start(server *applytest.Server, namespace string) *run {
	r := &run{world: w, server: server, namespace: namespace, processes: map[string]*Process{}}
	if w.Before != nil {
		r.fail(w.Before(context.Background(), r.outsider()))
	}
	r.observe()
	for _, a := range w.Actors {
		r.actors = append(r.actors, &actor{Actor: a, run: r})
	}
	for _, a := range r.actors {
		r.begin(a)
	}
	return r
}

func (r *run) begin(a *actor) {
	if r.processes[a.Process] == nil {
		r.processes[a.Process] = r.newProcess(a.Process)
	}
	process := r.processes[a.Process]
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), actorKey{}, a))
	a.cancel, a.ended, a.judged = cancel, false, nil
	go func() {
		defer func() {
			if problem := recover(); problem != nil {
				r.fail(fmt.Errorf("%s panics: %v", a.Name, problem))
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			a.ended = true
		}()
		if _, err := r.stop(ctx, a, &request{text: "begins"}); err == nil {
			err := a.Do(ctx, &Self{actor: a, Process: process})
			a.saw = append(a.saw, fmt.Sprintf("ended: %v", errorText(err)))
		}
	}()
}

// stop waits until the explorer chooses the request.
func (r *run) stop(ctx context.Context, a *actor, q *request) (verdict, error) {
	q.resume = make(chan verdict)
	r.mu.Lock()
	if a.asks != nil {
		r.mu.Unlock()
		return 0, fmt.Errorf("%s sends two requests at a time", a.Name)
	}
	a.asks = q
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		a.asks = nil
	}()
	select {
	case v := <-q.resume:
		return v, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// gate is the transport of the processes. It stops the requests of actors. Other requests, for schemas, pass.
type gate struct {
	run  *run
	next http.RoundTripper
}

func (g gate) RoundTrip(req *http.Request) (*http.Response, error) {
	r := g.run
	a, _ := req.Context().Value(actorKey{}).(*actor)
	if a == nil || !strings.Contains(req.URL.Path, r.namespace) {
		return g.next.RoundTrip(req)
	}
	if r.settled {
		if req.Method != http.MethodGet || r.at("web", len(r.events)) != nil && !a.Polls { // a missing object is always read
			r.sent++
		}
		defer r.observe()
		return g.next.RoundTrip(req)
	}
	q := &request{text: textOf(req), writes: req.Method != http.MethodGet}
	v, err := r.stop(req.Context(), a, q)
	if err != nil {
		return nil, err
	}
	if v == loseRequest {
		a.saw = append(a.saw, q.text+": lost")
		return nil, syscall.ECONNRESET
	}
	before := len(r.events)
	response, err := g.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	if q.writes {
		r.observe()
		if len(r.events) > before {
			r.checkWrite(a, req, before)
		}
	}
	switch v {
	case crashAfter: // the goroutine must not see the response: wait for the crash
		<-req.Context().Done()
		return nil, req.Context().Err()
	case loseResponse:
		a.saw = append(a.saw, q.text+": no response")
		return nil, syscall.ECONNRESET
	}
	a.saw = append(a.saw, q.text+": "+r.answerText(response.StatusCode, body))
	return response, nil
}

func textOf(req *http.Request) string {
	_, path, _ := strings.Cut(req.URL.Path, "/namespaces/")
	_, path, _ = strings.Cut(path, "/")
	verb := req.Method
	if strings.Contains(req.Header.Get("Content-Type"), "apply-patch") {
		verb = "APPLY"
	}
	if req.URL.Query().Get("force") == "true" {
		verb = "FORCE"
	}
	return verb + " " + path
}

// answerText returns a response for the state: an object as the number of its version, an error without its uids.
func (r *run) answerText(code int, body []byte) string {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(body, &object.Object); err == nil && object.GetUID() != "" {
		return fmt.Sprintf("%d %s", code, r.versionText(object))
	}
	return fmt.Sprintf("%d %s", code, r.anonymous(string(body)))
}

func (r *run) versionText(object *unstructured.Unstructured) string {
	for i, e := range r.events {
		if e.name == object.GetName() && e.now != nil && e.now.GetUID() == object.GetUID() && e.now.GetResourceVersion() == object.GetResourceVersion() {
			return fmt.Sprintf("%s@%d", e.name, i)
		}
	}
	return object.GetName() + "@?"
}

// versionOfList matches the resourceVersion of a list, which every write of any run increases.
var versionOfList = regexp.MustCompile(`"metadata":\{"resourceVersion":"\d+"\}`)

// anonymous replaces the uids, resourceVersions and the namespace of this run.
func (r *run) anonymous(text string) string {
	shop := apply.ObjectRef{GroupVersionKind: shopKind, NamespacedName: client.ObjectKey{Namespace: r.namespace, Name: "shop"}}
	text = strings.ReplaceAll(strings.ReplaceAll(text, r.namespace, "NAMESPACE"), applyset.ID(shop), "SET")
	text = versionOfList.ReplaceAllString(text, "")
	for i, e := range r.events {
		if e.now != nil {
			text = strings.ReplaceAll(text, string(e.now.GetUID()), fmt.Sprintf("uid of %d", i))
			text = strings.ReplaceAll(text, `"`+e.now.GetResourceVersion()+`"`, fmt.Sprintf("version of %d", i))
		}
	}
	return text
}

func errorText(err error) string {
	if err == nil {
		return "ok"
	}
	return fmt.Sprintf("%T %s", err, apierrors.ReasonForError(err))
}

// observe appends an event for each object that has changed since the last call.
func (r *run) observe() {
	for _, name := range r.world.objects() {
		now := newObject(r.namespace, name)
		err := r.server.Get(context.Background(), client.ObjectKeyFromObject(now), now)
		if client.IgnoreNotFound(err) != nil {
			r.fail(err)
			return
		}
		if err != nil {
			now = nil
		}
		before := r.at(name, len(r.events))
		same := before == nil && now == nil || before != nil && now != nil &&
			before.GetUID() == now.GetUID() && before.GetResourceVersion() == now.GetResourceVersion()
		if !same {
			r.events = append(r.events, event{name, now})
		}
	}
}

// at returns the object after the given number of events, or nil.
func (r *run) at(name string, position int) *unstructured.Unstructured {
	for i := position - 1; i >= 0; i-- {
		if r.events[i].name == name {
			return r.events[i].now
		}
	}
	return nil
}

func (r *run) fail(err error) {
	r.wrong = cmp.Or(r.wrong, err)
}

// choices returns the steps that are possible now, in a fixed order.
func (r *run) choices() (steps []string) {
	behind := map[string]bool{}
	for _, a := range r.actors {
		if a.ended {
			continue
		}
		if p := r.processes[a.Process]; p.position < len(r.events) && !behind[a.Process] {
			behind[a.Process] = true
			if len(r.events)-p.position >= max(r.world.Lag, 1) {
				return []string{"+" + a.Process}
			}
		}
		if a.asks != nil {
			steps = append(steps, a.Name)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(behind)) {
		steps = append(steps, "+"+p)
	}
	if r.sleeps() {
		return append(steps, ".")
	}
	if r.faulted || !r.world.Faults {
		return steps
	}
	for _, a := range r.actors {
		if a.asks == nil || a.asks.text == "begins" || a.asks.text == "pauses" {
			continue
		}
		steps = append(steps, a.Name+"?", a.Name+"!")
		if a.asks.writes {
			steps = append(steps, a.Name+"~", a.Name+"^")
		}
	}
	return steps
}

// take takes a step, and waits until all actors have stopped again.
func (r *run) take(step string) error {
	r.taken = append(r.taken, step)
	if process, ok := strings.CutPrefix(step, "+"); ok && r.processes[process] != nil {
		r.processes[process].position++
		return nil
	}
	if step == "." && r.sleeps() {
		r.letTimePass()
		return nil
	}
	for _, a := range r.actors {
		for v, suffix := range suffixes {
			if a.Name+suffix == step && a.asks != nil {
				r.resume(a, v)
				return nil
			}
		}
	}
	return fmt.Errorf("the step %s is not possible after %v", step, r.taken[:len(r.taken)-1])
}

func (r *run) resume(a *actor, v verdict) {
	if v != handle {
		r.faulted = true
	}
	if v != crashBefore {
		a.asks.resume <- v
		synctest.Wait()
	}
	if v != crashBefore && v != crashAfter {
		return
	}
	var again []*actor
	for _, other := range r.actors {
		if other.Process == a.Process && !other.ended {
			other.cancel()
			again = append(again, other)
		}
	}
	synctest.Wait()
	delete(r.processes, a.Process)
	for _, other := range again {
		other.saw = append(other.saw, "crashed")
		r.begin(other)
	}
}

// sleeps reports whether each actor that has not ended waits for a time.
func (r *run) sleeps() bool {
	return !r.ended() && !slices.ContainsFunc(r.actors, func(a *actor) bool { return a.asks != nil })
}

func (r *run) ended() bool {
	return !slices.ContainsFunc(r.actors, func(a *actor) bool { return !a.ended })
}

// letTimePass returns when an actor has stopped, or all have ended.
func (r *run) letTimePass() {
	for range 1000 {
		if synctest.Wait(); !r.sleeps() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	r.fail(errors.New("the actors wait for each other"))
}

// state returns a hash of the state. A schedule that has already used its fault is in another state.
func (r *run) state() uint64 {
	h := fnv.New64a()
	for _, e := range r.events {
		fmt.Fprintf(h, "%s=%s;", e.name, r.contentText(e.now))
	}
	for _, a := range r.actors {
		asks := ""
		if a.asks != nil {
			asks = a.asks.text
		}
		fmt.Fprintf(h, "%s %d %v %s %s;", a.Name, r.processes[a.Process].position, a.ended, asks, strings.Join(a.saw, "|"))
	}
	fmt.Fprint(h, r.faulted)
	return h.Sum64()
}

func (r *run) contentText(object *unstructured.Unstructured) string {
	if object == nil {
		return ""
	}
	object = object.DeepCopy()
	object.SetResourceVersion("")
	object.SetCreationTimestamp(creation)
	if object.GetDeletionTimestamp() != nil {
		object.SetDeletionTimestamp(&creation)
	}
	fields := object.GetManagedFields()
	for i := range fields {
		fields[i].Time = nil
	}
	object.SetManagedFields(fields)
	text, err := json.Marshal(object)
	r.fail(err)
	return r.anonymous(string(text))
}

// end stops all actors.
func (r *run) end() {
	for _, a := range r.actors {
		a.cancel()
	}
	synctest.Wait()
}
