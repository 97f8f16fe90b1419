package platform

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// nodeWritten gives the node that a request of the manager writes to, "" for others.
func nodeWritten(request *http.Request) string {
	name, isNode := strings.CutPrefix(request.URL.Path, "/api/v1/nodes/")
	if !isNode || request.Method == http.MethodGet || strings.Contains(name, "/") {
		return ""
	}
	return name
}

// foreign has somebody else write to a node before each request of the manager's that
// writes to it, of those that hit lets through.
func (m *maintenance) foreign(t *testing.T, hit func(node string) bool) func(http.RoundTripper) http.RoundTripper {
	var written atomic.Int32
	return func(next http.RoundTripper) http.RoundTripper {
		return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			if name := nodeWritten(request); name != "" && hit(name) {
				node := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}}
				node.Name = name
				patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/foreign":"%d"}}}`, written.Add(1))
				err := m.Client.Patch(request.Context(), node, client.RawPatch("application/merge-patch+json", patch), client.FieldOwner("foreign"))
				if err != nil {
					t.Error(err)
				}
			}
			return next.RoundTrip(request)
		})
	}
}

// TestNodeRewrittenWithoutPause: the fallback gives up after four attempts, and to
// Server-Side Apply it is nothing.
func TestNodeRewrittenWithoutPause(t *testing.T) {
	t.Parallel()
	m := newMaintenance(t)
	nodes := m.nodes(t, 3)
	m.run(t, m.foreign(t, func(node string) bool { return node == nodes[1] }))

	status := m.do(t, "update", byUpdate(cordonAll), "Failed")
	wantSent(t, m, nodes[1:2], map[string]int{"PUT": 4}, 2)
	if status.Succeeded != 2 || status.Failed != 1 {
		t.Errorf("%d succeeded, %d failed: %+v", status.Succeeded, status.Failed, status.Nodes)
	}
	if got := status.Nodes[1]; got.Attempts != 4 || !strings.Contains(got.Error, "gave up on Node "+nodes[1]+" after 4 attempts: stale write") {
		t.Errorf("%+v", got)
	}
	for _, spec := range []v1alpha1.NodeMaintenanceSpec{cordonAll, uncordonAll} {
		onlyAttempts(t, m.do(t, "apply-"+strings.ToLower(string(spec.Action)), spec, "Succeeded"), 3, 1)
		wantSent(t, m, nodes[1:2], map[string]int{"PATCH": 1}, 2)
	}
}

// TestStaleShare counts stale writes when somebody else writes before each fourth
// write: twelve nodes cost fifteen writes, three of them stale, by the fallback, and
// twelve, none of them stale, by Server-Side Apply.
func TestStaleShare(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		strategy     v1alpha1.WriteStrategy
		method       string
		sent         int
		moreAttempts int32
	}{{v1alpha1.StrategyUpdate, "PUT", 15, 3}, {v1alpha1.StrategyApply, "PATCH", 12, 0}} {
		m := newMaintenance(t)
		nodes := m.nodes(t, 12)
		var writes atomic.Int32
		m.run(t, m.foreign(t, func(string) bool { return writes.Add(1)%4 == 0 }))
		spec := cordonAll
		spec.Strategy, spec.Concurrency = test.strategy, 1
		status := m.do(t, "cordon", spec, "Succeeded")
		wantSent(t, m, nodes, map[string]int{test.method: test.sent}, 13)
		var attempts int32
		for _, node := range status.Nodes {
			attempts += node.Attempts
		}
		if attempts != 12+test.moreAttempts {
			t.Errorf("%s: %d attempts, want %d", test.strategy, attempts, 12+test.moreAttempts)
		}
	}
}

// answering gives the requests that write to a node an answer of the test's own.
func answering(node string, answer func() (*http.Response, error)) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			if nodeWritten(request) == node {
				return answer()
			}
			return next.RoundTrip(request)
		})
	}
}

// TestNodeThatCannotBeWritten: what may pass is tried until the deadline by
// Server-Side Apply; all else, and all of it by the fallback, fails at once. The other
// nodes are done.
func TestNodeThatCannotBeWritten(t *testing.T) {
	unavailable := kit.Refusing(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
	unreachable := func() (*http.Response, error) { return nil, errors.New("connection refused") }
	forbidden := kit.Refusing(http.StatusForbidden, metav1.StatusReasonForbidden)
	for _, test := range []struct {
		name     string
		strategy v1alpha1.WriteStrategy
		answer   func() (*http.Response, error)
		atOnce   bool
		want     string
	}{
		{"apply-503", v1alpha1.StrategyApply, unavailable, false, "told so"},
		{"apply-unreachable", v1alpha1.StrategyApply, unreachable, false, "connection refused"},
		{"apply-403", v1alpha1.StrategyApply, forbidden, true, "refused: told so"},
		{"update-503", v1alpha1.StrategyUpdate, unavailable, true, "told so"},
		{"update-unreachable", v1alpha1.StrategyUpdate, unreachable, true, "connection refused"},
		{"update-403", v1alpha1.StrategyUpdate, forbidden, true, "refused: told so"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := newMaintenance(t)
			nodes := m.nodes(t, 2)
			m.run(t, answering(nodes[0], test.answer))
			status := m.do(t, test.name, v1alpha1.NodeMaintenanceSpec{
				Action: v1alpha1.Cordon, Strategy: test.strategy, NodeDeadlineSeconds: 30}, "Failed")
			bad, good := status.Nodes[0], status.Nodes[1]
			if good.Result != v1alpha1.NodeSucceeded || bad.Result != v1alpha1.NodeFailed || !strings.Contains(bad.Error, test.want) {
				t.Fatalf("%+v", status.Nodes)
			}
			sent, _ := m.sentTo(nodes[0])
			if writes := sent["PATCH"] + sent["PUT"]; test.atOnce && (bad.Attempts != 1 || writes != 1) {
				t.Errorf("%d attempts, %d writes; want one", bad.Attempts, writes)
			}
			late := fmt.Sprintf("did not succeed within 30 s (spec.nodeDeadlineSeconds) and %d attempts; last error: writing Node %s failed with a transient error", bad.Attempts, nodes[0])
			if !test.atOnce && (bad.Attempts < 2 || !strings.HasPrefix(bad.Error, late)) {
				t.Errorf("%+v, want %q", bad, late)
			}
		})
	}
}

// dying lets the first write to a node land and answers as the API server does while
// etcd dies, or not at all. The next reads fail alike.
func dying(node string, reads int32, answer func() (*http.Response, error)) func(http.RoundTripper) http.RoundTripper {
	var written, left atomic.Int32
	left.Store(reads)
	return func(next http.RoundTripper) http.RoundTripper {
		return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			reads := request.Method == http.MethodGet && request.URL.Path == "/api/v1/nodes/"+node
			switch {
			case nodeWritten(request) == node && written.Add(1) == 1:
				response, err := next.RoundTrip(request)
				if err == nil {
					err = response.Body.Close()
				}
				if err != nil {
					return nil, err
				}
				return answer()
			case reads && written.Load() > 0 && left.Add(-1) >= 0:
				return answer()
			}
			return next.RoundTrip(request)
		})
	}
}

// TestNodeWhoseAnswerIsLost: what has landed is looked up before a failure is recorded,
// by either strategy.
func TestNodeWhoseAnswerIsLost(t *testing.T) {
	for name, answer := range map[string]func() (*http.Response, error){
		"etcd": func() (*http.Response, error) {
			body := `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"rpc error: code = Unavailable desc = error reading from server: EOF","code":500}`
			header := http.Header{"Content-Type": []string{"application/json"}}
			return &http.Response{StatusCode: http.StatusInternalServerError, Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
		},
		"connection": func() (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
	} {
		for _, strategy := range []v1alpha1.WriteStrategy{v1alpha1.StrategyApply, v1alpha1.StrategyUpdate} {
			t.Run(name+" "+string(strategy), func(t *testing.T) {
				t.Parallel()
				m := newMaintenance(t)
				nodes := m.nodes(t, 2)
				m.run(t, dying(nodes[0], 2, answer))
				cordon := v1alpha1.NodeMaintenanceSpec{Action: v1alpha1.Cordon, Strategy: strategy}
				status := m.do(t, "lost", cordon, "Succeeded")
				if status.Succeeded != 2 || status.Nodes[0].Error != "" {
					t.Errorf("%+v", status.Nodes)
				}
			})
		}
	}
}
