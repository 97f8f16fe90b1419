package integration

import (
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/internal/controller/nodeset"
)

// frozen is a manager whose cache can be held back, so that it decides on what was.
type frozen struct {
	*platform

	requests *requestLog

	mu   sync.Mutex
	thaw map[string]chan struct{} // by resource, while its watch is held back
}

// startFrozen runs a second manager for the namespace of a platform.
func startFrozen(t *testing.T, p *platform) *frozen {
	t.Helper()
	f := &frozen{
		platform: &platform{namespace: p.namespace, client: p.client, writes: &writeLog{}, applies: &applyLog{}},
		requests: &requestLog{}, thaw: map[string]chan struct{}{},
	}
	config := rest.CopyConfig(cluster(t).Config())
	config.Wrap(f.requests.wrap)
	config.Wrap(f.wrap)
	f.run(t, config, apply.Force)
	t.Cleanup(func() { f.release("pods", "nodesets") })
	return f
}

func (f *frozen) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil && request.URL.Query().Get("watch") != "" {
			response.Body = heldBody{response.Body, f, request}
		}
		return response, err
	})
}

// freeze holds back what the watches of resources bring from now on.
func (f *frozen) freeze(resources ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, resource := range resources {
		f.thaw[resource] = make(chan struct{})
	}
}

func (f *frozen) release(resources ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, resource := range resources {
		if f.thaw[resource] != nil {
			close(f.thaw[resource])
			delete(f.thaw, resource)
		}
	}
}

// heldBody gives what it reads when it is held back no more.
type heldBody struct {
	io.ReadCloser

	of      *frozen
	request *http.Request
}

func (b heldBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.of.mu.Lock()
	thaw := b.of.thaw[path.Base(b.request.URL.Path)]
	b.of.mu.Unlock()
	if thaw != nil {
		select {
		case <-thaw:
		case <-b.request.Context().Done():
		}
	}
	return n, err
}

// requestLog keeps method and path of each request but for lists and watches.
type requestLog struct {
	mu   sync.Mutex
	sent []string
}

func (l *requestLog) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		l.mu.Lock()
		if request.URL.Query().Get("watch") == "" {
			l.sent = append(l.sent, request.Method+" "+request.URL.Path)
		}
		l.mu.Unlock()
		return next.RoundTrip(request)
	})
}

// about gives those of a method whose path has a part.
func (l *requestLog) about(method, part string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, request := range l.sent {
		if strings.HasPrefix(request, method+" ") && strings.Contains(request, part) {
			found = append(found, request)
		}
	}
	return found
}

func (l *requestLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = nil
}

// waitForDecision waits until a manager has held a decision against the live NodeSet.
func (f *frozen) waitForDecision(t *testing.T, set string) {
	t.Helper()
	f.requests.reset()
	waitFor(t, "the manager behind decides", func() string {
		if len(f.requests.about(http.MethodGet, "/nodesets/"+set)) < 2 {
			return "it has not"
		}
		return ""
	})
}

func (f *frozen) wantNoPodWritten(t *testing.T) {
	t.Helper()
	for _, request := range f.writes.take() {
		if strings.Contains(request, "/pods/") {
			t.Errorf("on what it saw it did %s", request)
		}
	}
}

// TestNodeSetStaleParent: one that saw 3 where the truth is 5 deletes nothing, and one
// that saw 5 where the truth is 3 creates nothing.
func TestNodeSetStaleParent(t *testing.T) {
	t.Parallel()
	p := startPlatform(t, apply.Force)
	history := p.history(t)
	behind := startFrozen(t, p)
	p.createNodeSet(t, "x", 3)
	p.waitForNodes(t, "x")
	time.Sleep(time.Second) // until it has seen that, too
	behind.freeze("nodesets")
	behind.writes.take()
	p.scale(t, "x", 5)
	p.waitForNodes(t, "x")
	behind.waitForDecision(t, "x")
	history.want(t, "x", "0-4:1")
	behind.wantNoPodWritten(t)

	behind.release("nodesets")
	time.Sleep(time.Second)
	behind.freeze("nodesets")
	behind.writes.take()
	p.scale(t, "x", 2)
	p.waitForNodes(t, "x")
	behind.waitForDecision(t, "x")
	history.want(t, "x", "0-4:1")
	behind.wantNoPodWritten(t)
	behind.release("nodesets")
	p.waitForNodes(t, "x")
	behind.quiet(t, time.Second)
	history.want(t, "x", "0-4:1")
}

// TestNodeSetStalePods: a manager whose view of the pods stands still learns of a
// rolling update that another one is about, and takes no pod but those that it saw.
func TestNodeSetStalePods(t *testing.T) {
	t.Parallel()
	p := startPlatform(t, apply.Force)
	history := p.history(t)
	behind := startFrozen(t, p)
	p.createNodeSet(t, "x", 5)
	p.waitForNodes(t, "x")
	time.Sleep(time.Second)
	behind.freeze("pods", "nodesets")
	history.follow(t, "x", 5)
	p.patch(t, &v1alpha1.NodeSet{}, "x", `{"spec":{"image":"registry.example.com/slurmd:2"}}`)
	history.wantReplaced(t, "x-4")
	behind.release("nodesets")
	behind.waitForDecision(t, "x")
	behind.wantTried(t, "x-4")
	history.want(t, "x", "0-4:2")
	history.wantUnavailable(t, 1)
	p.waitForNodes(t, "x")
	behind.release("pods")
	behind.quiet(t, time.Second)
	history.want(t, "x", "0-4:2")
}

// TestNodeSetStalePod: one that a person takes out is not surplus to who still sees it
// as ours, though it is the same pod.
func TestNodeSetStalePod(t *testing.T) {
	t.Parallel()
	p := &platform{client: newClient(t, cluster(t).Config()), writes: &writeLog{}, applies: &applyLog{}}
	p.namespace = newNamespace(t, p.client)
	behind := startFrozen(t, p)
	p.createNodeSet(t, "x", 2)
	p.waitForNodes(t, "x")
	behind.quiet(t, time.Second)
	behind.freeze("pods")
	p.patch(t, &corev1.Pod{}, "x-1", `{"metadata":{"ownerReferences":null,"labels":{"`+nodeset.Label+`":null}}}`)
	p.scale(t, "x", 1)
	behind.waitForDecision(t, "x")
	behind.wantTried(t, "x-1")
	if pod := p.get(t, "x-1", &corev1.Pod{}); pod.GetDeletionTimestamp() != nil {
		t.Error("the pod that was taken out is deleted")
	}
	behind.release("pods")
	p.waitForNodes(t, "x")
	p.get(t, "x-1", &corev1.Pod{})
}

// wantTried shows that a manager behind did decide to delete a pod.
func (f *frozen) wantTried(t *testing.T, pod string) {
	t.Helper()
	waitFor(t, "it tries to delete "+pod, func() string {
		if len(f.requests.about(http.MethodDelete, "/pods/"+pod)) == 0 {
			return "it has not"
		}
		return ""
	})
}

// TestNodeSetManagersAtOnce: two managers for one namespace, as when leader election
// fails: what is wanted is made once.
func TestNodeSetManagersAtOnce(t *testing.T) {
	t.Parallel()
	p := startPlatform(t, apply.Force)
	history := p.history(t)
	p.run(t, cluster(t).Config(), apply.Force)
	p.createNodeSet(t, "x", 30, func(set *v1alpha1.NodeSet) { set.Spec.MaxUnavailable = 4 })
	p.waitForNodes(t, "x")
	history.want(t, "x", "0-29:1")
	p.scale(t, "x", 12)
	p.waitForNodes(t, "x")
	p.scale(t, "x", 16)
	p.waitForNodes(t, "x")
	history.want(t, "x", "0-11:1 12-15:2 16-29:1")
	history.follow(t, "x", 16)
	p.patch(t, &v1alpha1.NodeSet{}, "x", `{"spec":{"image":"registry.example.com/slurmd:2"}}`)
	p.waitForNodes(t, "x")
	history.want(t, "x", "0-11:2 12-15:3 16-29:1")
	history.wantUnavailable(t, 4)
	p.quiet(t, time.Second)
}

// TestNodeSetManagerRestarted in the middle of scaling out, and of scaling in.
func TestNodeSetManagerRestarted(t *testing.T) {
	t.Parallel()
	p := &platform{client: newClient(t, cluster(t).Config()), writes: &writeLog{}, applies: &applyLog{}}
	p.namespace = newNamespace(t, p.client)
	history := p.history(t)
	stop := p.run(t, cluster(t).Config(), apply.Force)
	until := func(reached func(pods int) bool) {
		t.Helper()
		waitFor(t, "part of it is done", func() string {
			var pods corev1.PodList
			if err := p.client.List(t.Context(), &pods, client.InNamespace(p.namespace)); err != nil || !reached(len(pods.Items)) {
				return fmt.Sprint(len(pods.Items), err)
			}
			return ""
		})
		stop()
		stop = p.run(t, cluster(t).Config(), apply.Force)
	}
	p.createNodeSet(t, "x", 40)
	until(func(pods int) bool { return pods > 5 })
	p.waitForNodes(t, "x")
	history.want(t, "x", "0-39:1")
	p.scale(t, "x", 3)
	until(func(pods int) bool { return pods < 38 })
	p.waitForNodes(t, "x")
	history.want(t, "x", "0-39:1")
}

// TestNodeSetUnchangedRound counts what a round sends that finds nothing to do.
func TestNodeSetUnchangedRound(t *testing.T) {
	t.Parallel()
	p := &platform{client: newClient(t, cluster(t).Config()), writes: &writeLog{}, applies: &applyLog{}}
	p.namespace = newNamespace(t, p.client)
	only := startFrozen(t, p)
	p.createNodeSet(t, "x", 10)
	p.waitForNodes(t, "x")
	only.quiet(t, time.Second)
	only.requests.reset()
	p.patch(t, &corev1.Pod{}, "x-0", `{"metadata":{"labels":{"example.com/note":"x"}}}`) // starts a round
	time.Sleep(time.Second)
	for _, about := range []string{"/pods/", "/nodesets/"} {
		for _, method := range []string{http.MethodGet, http.MethodPatch, http.MethodPut, http.MethodDelete} {
			if sent := only.requests.about(method, about); len(sent) > 0 {
				t.Errorf("a round without anything to do sends %v", sent)
			}
		}
	}
	p.patch(t, &corev1.Pod{}, "x-0", `{"metadata":{"labels":{"app.kubernetes.io/name":null}}}`)
	waitFor(t, "one decision, and one apply", func() string {
		gets, patches := only.requests.about(http.MethodGet, "/nodesets/x"), only.requests.about(http.MethodPatch, "/pods/x")
		if len(gets) != 1 || len(patches) != 1 {
			return fmt.Sprint(gets, patches)
		}
		return ""
	})
}
