package platform

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// TestManagerStopsInTheMiddleOfAWave: the next one finishes it, and writes to no node
// that was done.
func TestManagerStopsInTheMiddleOfAWave(t *testing.T) {
	t.Parallel()
	m := newMaintenance(t)
	nodes := m.nodes(t, 6)
	stop := m.run(t, func(next http.RoundTripper) http.RoundTripper {
		return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			if nodeWritten(request) == nodes[1] { // no answer before the manager stops
				<-request.Context().Done()
				return nil, request.Context().Err()
			}
			return next.RoundTrip(request)
		})
	})
	spec := cordonAll
	spec.Concurrency = 3
	work := m.begin(t, "cordon", spec)
	kit.WaitFor(t, "the others of the wave are done", func() string {
		if !m.node(t, nodes[0]).Spec.Unschedulable || !m.node(t, nodes[2]).Spec.Unschedulable {
			return "not yet"
		}
		return ""
	})
	stop()
	if err := m.Client.Get(t.Context(), client.ObjectKeyFromObject(work), work); err != nil {
		t.Fatal(err)
	}
	before := work.Status.Nodes
	for i, node := range before {
		if node.Result != v1alpha1.NodePending || (node.StartTime != nil) != (i < 3) {
			t.Errorf("when the manager stopped: %+v", node)
		}
	}
	m.run(t)
	after := m.end(t, work, "Succeeded").Nodes
	for i, attempts := range []int32{0, 1, 0, 1, 1, 1} {
		wantWrites := 1
		if i == 1 {
			wantWrites = 2 // the first was never answered
		}
		if after[i].Attempts != attempts {
			t.Errorf("%+v, want %d attempts", after[i], attempts)
		}
		if i < 3 && !after[i].StartTime.Equal(before[i].StartTime) {
			t.Errorf("%s began at %v, and again at %v", nodes[i], before[i].StartTime, after[i].StartTime)
		}
		m.wantMarked(t, nodes[i], work)
		if sent := len(m.Writes.About("PATCH /api/v1/nodes/" + nodes[i])); sent != wantWrites {
			t.Errorf("%s was written to %d times, want %d", nodes[i], sent, wantWrites)
		}
	}
}

// TestWorkDeletedMeanwhile: the nodes under way end, and no other begins.
func TestWorkDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	m := newMaintenance(t)
	nodes := m.nodes(t, 2)
	reached := make(chan struct{})
	var once atomic.Bool
	m.run(t, func(next http.RoundTripper) http.RoundTripper {
		return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			if nodeWritten(request) == nodes[0] && once.CompareAndSwap(false, true) {
				work := &v1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{Name: "cordon-" + m.label}}
				if err := m.Client.Delete(request.Context(), work); err != nil {
					t.Error(err)
				}
				kit.WaitFor(t, "the manager sees the deletion", func() string {
					if err := m.Cached.Get(request.Context(), client.ObjectKeyFromObject(work), work); !apierrors.IsNotFound(err) {
						return fmt.Sprint(err)
					}
					return ""
				})
				defer close(reached)
			}
			return next.RoundTrip(request)
		})
	})
	spec := cordonAll
	spec.Concurrency = 1
	m.begin(t, "cordon", spec)
	<-reached
	kit.WaitFor(t, "the first node is cordoned", func() string {
		if !m.node(t, nodes[0]).Spec.Unschedulable {
			return "not yet"
		}
		return ""
	})
	kit.Absence(t, time.Second, "the turn of the next node")
	if m.node(t, nodes[1]).Spec.Unschedulable {
		t.Error("the second node was cordoned for a work that was deleted")
	}
	if sent, statuses := m.sentTo(nodes...); sent["PATCH"] != 1 || statuses != 1 {
		t.Errorf("%v, %d status writes; want one, and what began the first wave: what ended it finds the work gone", sent, statuses)
	}
}
