package nodemaintenance

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/platform/api/v1alpha1"
)

func TestSettle(t *testing.T) {
	broken := errors.New("broken")
	before := v1alpha1.NodeStatus{Name: "a", Result: v1alpha1.NodePending, Attempts: 2, Error: "before"}
	for _, test := range []struct {
		reason string
		done   outcome
		late   bool
		want   v1alpha1.NodeStatus
	}{
		{"done", outcome{attempts: 1}, true, v1alpha1.NodeStatus{Name: "a", Result: v1alpha1.NodeSucceeded, Attempts: 3}},
		{"nothing helps", outcome{1, broken, true}, false,
			v1alpha1.NodeStatus{Name: "a", Result: v1alpha1.NodeFailed, Attempts: 3, Error: "broken"}},
		{"the wave ended", outcome{1, broken, false}, false,
			v1alpha1.NodeStatus{Name: "a", Result: v1alpha1.NodePending, Attempts: 3, Error: "broken"}},
		{"its deadline", outcome{4, broken, false}, true, v1alpha1.NodeStatus{Name: "a", Result: v1alpha1.NodeFailed, Attempts: 6,
			Error: "did not succeed within 30 s (spec.nodeDeadlineSeconds) and 6 attempts; last error: broken"}},
	} {
		if diff := cmp.Diff(test.want, settle(before, test.done, test.late, someWork(v1alpha1.Cordon, ""))); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.reason, diff)
		}
	}
	for total, want := range map[int]int{1: 400, 500: 400, 1000: 200} {
		work := someWork(v1alpha1.Cordon, "")
		work.Status.Nodes = make([]v1alpha1.NodeStatus, total)
		long := settle(before, outcome{1, errors.New(strings.Repeat("ü", 5000)), true}, false, work).Error
		if n := utf8.RuneCountInString(long); n != want || !utf8.ValidString(long) {
			t.Errorf("a long error of one of %d nodes has %d characters, want %d", total, n, want)
		}
	}
}

// TestLimit: the status of a wave is written before the reconcile's time is up.
func TestLimit(t *testing.T) {
	now := time.Now()
	if got := limit(t.Context(), now); got != waveLimit {
		t.Errorf("without an end: %v", got)
	}
	for _, test := range []struct{ end, want time.Duration }{{time.Minute, 45 * time.Second}, {8 * time.Second, 6 * time.Second}, {time.Hour, waveLimit}} {
		ctx, cancel := context.WithDeadline(t.Context(), now.Add(test.end))
		if got := limit(ctx, now); got != test.want {
			t.Errorf("with %v: %v, want %v", test.end, got, test.want)
		}
		cancel()
	}
}

// TestDeadline: it does not begin anew with each wave, and nobody fails untried.
func TestDeadline(t *testing.T) {
	node := v1alpha1.NodeStatus{StartTime: &metav1.MicroTime{Time: noon}}
	for _, test := range []struct {
		reason string
		begun  time.Duration // of the wave, after the node's turn came
		want   time.Duration
	}{
		{"its first wave", time.Millisecond, 30 * time.Second},
		{"a later one", 29 * time.Second, 30 * time.Second},
		{"it has its turn by a clock that is ahead", -time.Hour, -time.Hour + 30*time.Second},
		{"nobody worked on it until it had passed", time.Hour, time.Hour + lastChance},
	} {
		if got := deadlineOf(notAhead(node, noon.Add(test.begun)), 30, noon.Add(test.begun)); !got.Equal(noon.Add(test.want)) {
			t.Errorf("%s: %v, want %v", test.reason, got, noon.Add(test.want))
		}
	}
}

func TestModify(t *testing.T) {
	object := func(spec, annotations map[string]any) *unstructured.Unstructured {
		metadata := map[string]any{"name": "a"}
		if annotations != nil {
			metadata["annotations"] = annotations
		}
		return &unstructured.Unstructured{Object: map[string]any{"metadata": metadata, "spec": spec}}
	}
	plain := object(map[string]any{"podCIDR": "x"}, map[string]any{"foreign": "y"})
	cordoned := object(map[string]any{"podCIDR": "x", "unschedulable": true},
		map[string]any{"foreign": "y", Annotation: "kernel", ReasonAnnotation: "because"})
	for _, test := range []struct {
		reason       string
		before, want *unstructured.Unstructured
		work         *v1alpha1.NodeMaintenance
	}{
		{"cordon", plain, cordoned, someWork(v1alpha1.Cordon, "because")},
		{"cordon again", cordoned, cordoned, someWork(v1alpha1.Cordon, "because")},
		{"uncordon", cordoned, plain, someWork(v1alpha1.Uncordon, "")},
		{"uncordon again", plain, plain, someWork(v1alpha1.Uncordon, "")},
		{"another's reason goes", cordoned, object(map[string]any{"podCIDR": "x", "unschedulable": true},
			map[string]any{"foreign": "y", Annotation: "kernel"}), someWork(v1alpha1.Cordon, "")},
		{"no annotations", object(map[string]any{}, nil),
			object(map[string]any{"unschedulable": true}, map[string]any{Annotation: "kernel"}), someWork(v1alpha1.Cordon, "")},
	} {
		got := test.before.DeepCopy()
		if err := modify(got, test.work); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want.Object, got.Object); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.reason, diff)
		}
	}
	if err := modify(&unstructured.Unstructured{Object: map[string]any{"spec": "odd"}}, someWork(v1alpha1.Cordon, "")); err == nil {
		t.Error("a spec that is no map was accepted")
	}
}
