package nodemaintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
)

// failing answers each read with an error, and counts them.
type failing struct {
	client.Reader

	err   error
	reads int
}

func (f *failing) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	f.reads++
	if f.err == nil { // no answer
		<-ctx.Done()
		return ctx.Err()
	}
	return f.err
}

// TestAttemptsOfAWave: they end with the wave, or with the node's deadline, and the
// server's wish to be left alone is heard.
func TestAttemptsOfAWave(t *testing.T) {
	const short, long = 700 * time.Millisecond, time.Hour
	busy := apierrors.NewServiceUnavailable("busy")
	for _, test := range []struct {
		reason         string
		err            error
		deadline, last time.Duration
		least, most    int // reads
		final          bool
	}{
		{"until the wave ends", busy, long, short, 2, 4, false},
		{"until the deadline", busy, short, long, 2, 4, false},
		{"the server asks for a minute", apierrors.NewTooManyRequests("busy", 60), long, short, 1, 1, false},
		{"no answer", nil, short, long, 1, 1, false},
		{"absent", apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, "a"), long, long, 1, 1, true},
		{"forbidden", apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "a", errors.New("no")), long, long, 1, 1, true},
	} {
		t.Run(test.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), test.deadline)
				defer cancel()
				live := &failing{err: test.err}
				done := applying{live: live}.do(ctx, someWork(v1alpha1.Uncordon, ""), "a", time.Now().Add(test.last))
				if live.reads < test.least || live.reads > test.most || done.attempts != live.reads {
					t.Errorf("%d reads and %d attempts, want %d to %d", live.reads, done.attempts, test.least, test.most)
				}
				if done.err == nil || done.final != test.final {
					t.Errorf("final is %v: %v", done.final, done.err)
				}
				if errors.Is(test.err, busy) && !errors.Is(done.err, apply.ErrRetryable) {
					t.Errorf("%v, want what went wrong before time was up", done.err)
				}
			})
		})
	}
}

// listing lists so many nodes, as far as it is asked to.
type listing struct {
	client.Reader

	nodes int
}

func (l listing) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	list := into.(*metav1.PartialObjectMetadataList)
	for i := range min(l.nodes, int(options.Limit)) {
		list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)}})
	}
	return nil
}

func TestPick(t *testing.T) {
	for _, test := range []struct {
		nodes int
		want  int32
		end   string
	}{{0, 0, noNodes}, {1000, 1000, ""}, {1001, 0, tooManyNodes}, {5000, 0, tooManyNodes}} {
		work := someWork(v1alpha1.Cordon, "")
		work.Spec.NodeSelector = &v1alpha1.NodeSelector{MatchLabels: map[string]v1alpha1.LabelValue{"a": "b"}}
		r := &Reconciler{live: listing{nodes: test.nodes}}
		change, err := r.pick(t.Context(), work)
		if err != nil {
			t.Fatal(err)
		}
		if err := change(work); err != nil {
			t.Fatal(err)
		}
		condition := work.Status.Conditions[0]
		if work.Status.Total != test.want || isComplete(work) != (test.end != "") || test.end != "" && condition.Reason != test.end {
			t.Errorf("of %d: %d nodes, %s (%s)", test.nodes, work.Status.Total, condition.Reason, condition.Message)
		}
		if !slices.IsSortedFunc(work.Status.Nodes, func(a, b v1alpha1.NodeStatus) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("of %d: not in order", test.nodes)
		}
	}
}
