package platform

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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/nodeset"
	"coapply.dev/test/kit"
)

// frozen is a manager whose cache can be held back, so that it decides on what was.
type frozen struct {
	*kit.Platform

	requests *kit.RequestLog

	mu   sync.Mutex
	thaw map[string]chan struct{} // by resource, while its watch is held back
}

// startFrozen runs a second manager for the namespace of a platform.
func startFrozen(t *testing.T, p *kit.Platform) *frozen {
	t.Helper()
	f := &frozen{
		Platform: &kit.Platform{Namespace: p.Namespace, Client: p.Client},
		requests: &kit.RequestLog{}, thaw: map[string]chan struct{}{},
	}
	config := kit.Cluster(t).Config()
	config.Wrap(f.requests.Wrap)
	config.Wrap(f.wrap)
	f.Run(t, config, apply.Force)
	t.Cleanup(func() { f.release("pods", "nodesets") })
	return f
}

func (f *frozen) wrap(next http.RoundTripper) http.RoundTripper {
	return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
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

// waitForDecision waits until a manager has held a decision against the live NodeSet.
func (f *frozen) waitForDecision(t *testing.T, set string) {
	t.Helper()
	f.requests.Reset()
	kit.WaitFor(t, "the manager behind decides", func() string {
		if len(f.requests.About(http.MethodGet, "/nodesets/"+set)) < 2 {
			return "it has not"
		}
		return ""
	})
}

func (f *frozen) wantNoPodWritten(t *testing.T) {
	t.Helper()
	for _, request := range f.Writes.Take() {
		if strings.Contains(request, "/pods/") {
			t.Errorf("on what it saw it did %s", request)
		}
	}
}

// TestNodeSetStaleParent: one that saw 3 where the truth is 5 deletes nothing, and one
// that saw 5 where the truth is 3 creates nothing.
func TestNodeSetStaleParent(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	history := history(t, p)
	behind := startFrozen(t, p)
	createNodeSet(t, p, "x", 3)
	waitForNodes(t, p, "x")
	kit.Absence(t, time.Second, "more that it has yet to see")
	behind.freeze("nodesets")
	behind.Writes.Take()
	scale(t, p, "x", 5)
	waitForNodes(t, p, "x")
	behind.waitForDecision(t, "x")
	history.want(t, "x", "0-4:1")
	behind.wantNoPodWritten(t)

	behind.release("nodesets")
	kit.Absence(t, time.Second, "more that it has yet to see")
	behind.freeze("nodesets")
	behind.Writes.Take()
	scale(t, p, "x", 2)
	waitForNodes(t, p, "x")
	behind.waitForDecision(t, "x")
	history.want(t, "x", "0-4:1")
	behind.wantNoPodWritten(t)
	behind.release("nodesets")
	waitForNodes(t, p, "x")
	behind.Quiet(t, time.Second)
	history.want(t, "x", "0-4:1")
}

// TestNodeSetStalePods: a manager whose view of the pods stands still learns of a
// rolling update that another one is about, and takes no pod but those that it saw.
func TestNodeSetStalePods(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	history := history(t, p)
	behind := startFrozen(t, p)
	createNodeSet(t, p, "x", 5)
	waitForNodes(t, p, "x")
	kit.Absence(t, time.Second, "more that it has yet to see")
	behind.freeze("pods", "nodesets")
	history.follow(t, "x", 5)
	p.Patch(t, &v1alpha1.NodeSet{}, "x", `{"spec":{"image":"registry.example.com/slurmd:2"}}`)
	history.wantReplaced(t, "x-4")
	behind.release("nodesets")
	behind.waitForDecision(t, "x")
	behind.wantTried(t, "x-4")
	history.want(t, "x", "0-4:2")
	history.wantUnavailable(t, 1)
	waitForNodes(t, p, "x")
	behind.release("pods")
	behind.Quiet(t, time.Second)
	history.want(t, "x", "0-4:2")
}

// TestNodeSetStalePod: one that a person takes out is not surplus to who still sees it
// as ours, though it is the same pod.
func TestNodeSetStalePod(t *testing.T) {
	t.Parallel()
	p := kit.NewPlatform(t)
	behind := startFrozen(t, p)
	createNodeSet(t, p, "x", 2)
	waitForNodes(t, p, "x")
	behind.Quiet(t, time.Second)
	behind.freeze("pods")
	p.Patch(t, &corev1.Pod{}, "x-1", `{"metadata":{"ownerReferences":null,"labels":{"`+nodeset.Label+`":null}}}`)
	scale(t, p, "x", 1)
	behind.waitForDecision(t, "x")
	behind.wantTried(t, "x-1")
	if pod := p.Get(t, "x-1", &corev1.Pod{}); pod.GetDeletionTimestamp() != nil {
		t.Error("the pod that was taken out is deleted")
	}
	behind.release("pods")
	waitForNodes(t, p, "x")
	p.Get(t, "x-1", &corev1.Pod{})
}

// wantTried shows that a manager behind did decide to delete a pod.
func (f *frozen) wantTried(t *testing.T, pod string) {
	t.Helper()
	kit.WaitFor(t, "it tries to delete "+pod, func() string {
		if len(f.requests.About(http.MethodDelete, "/pods/"+pod)) == 0 {
			return "it has not"
		}
		return ""
	})
}

// TestNodeSetManagersAtOnce: two managers for one namespace, as when leader election
// fails: what is wanted is made once.
func TestNodeSetManagersAtOnce(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	history := history(t, p)
	p.Run(t, kit.Cluster(t).Config(), apply.Force)
	createNodeSet(t, p, "x", 30, func(set *v1alpha1.NodeSet) { set.Spec.MaxUnavailable = 4 })
	waitForNodes(t, p, "x")
	history.want(t, "x", "0-29:1")
	scale(t, p, "x", 12)
	waitForNodes(t, p, "x")
	scale(t, p, "x", 16)
	waitForNodes(t, p, "x")
	history.want(t, "x", "0-11:1 12-15:2 16-29:1")
	history.follow(t, "x", 16)
	p.Patch(t, &v1alpha1.NodeSet{}, "x", `{"spec":{"image":"registry.example.com/slurmd:2"}}`)
	waitForNodes(t, p, "x")
	history.want(t, "x", "0-11:2 12-15:3 16-29:1")
	history.wantUnavailable(t, 4)
	p.Quiet(t, time.Second)
}

// TestNodeSetManagerRestarted in the middle of scaling out, and of scaling in.
func TestNodeSetManagerRestarted(t *testing.T) {
	t.Parallel()
	p := kit.NewPlatform(t)
	history := history(t, p)
	stop := p.Run(t, kit.Cluster(t).Config(), apply.Force)
	until := func(reached func(pods int) bool) {
		t.Helper()
		kit.WaitFor(t, "part of it is done", func() string {
			var pods corev1.PodList
			if err := p.Client.List(t.Context(), &pods, client.InNamespace(p.Namespace)); err != nil || !reached(len(pods.Items)) {
				return fmt.Sprint(len(pods.Items), err)
			}
			return ""
		})
		stop()
		stop = p.Run(t, kit.Cluster(t).Config(), apply.Force)
	}
	createNodeSet(t, p, "x", 40)
	until(func(pods int) bool { return pods > 5 })
	waitForNodes(t, p, "x")
	history.want(t, "x", "0-39:1")
	scale(t, p, "x", 3)
	until(func(pods int) bool { return pods < 38 })
	waitForNodes(t, p, "x")
	history.want(t, "x", "0-39:1")
}

// TestNodeSetUnchangedRound counts what a round sends that finds nothing to do.
func TestNodeSetUnchangedRound(t *testing.T) {
	t.Parallel()
	p := kit.NewPlatform(t)
	only := startFrozen(t, p)
	createNodeSet(t, p, "x", 10)
	waitForNodes(t, p, "x")
	only.Quiet(t, time.Second)
	only.requests.Reset()
	p.Patch(t, &corev1.Pod{}, "x-0", `{"metadata":{"labels":{"example.com/note":"x"}}}`) // starts a round
	kit.Absence(t, time.Second, "requests of a round without anything to do")
	for _, about := range []string{"/pods/", "/nodesets/"} {
		for _, method := range []string{http.MethodGet, http.MethodPatch, http.MethodPut, http.MethodDelete} {
			if sent := only.requests.About(method, about); len(sent) > 0 {
				t.Errorf("a round without anything to do sends %v", sent)
			}
		}
	}
	p.Patch(t, &corev1.Pod{}, "x-0", `{"metadata":{"labels":{"app.kubernetes.io/name":null}}}`)
	kit.WaitFor(t, "one decision, and one apply", func() string {
		gets, patches := only.requests.About(http.MethodGet, "/nodesets/x"), only.requests.About(http.MethodPatch, "/pods/x")
		if len(gets) != 1 || len(patches) != 1 {
			return fmt.Sprint(gets, patches)
		}
		return ""
	})
}
