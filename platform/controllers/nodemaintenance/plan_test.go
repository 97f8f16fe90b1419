package nodemaintenance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"coapply.dev/platform/api/v1alpha1"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// state returns a status on one line: each node with its result and attempts, those
// whose turn it is with a star, then the counts and the condition.
func state(work *v1alpha1.NodeMaintenance) string {
	var parts []string
	for _, node := range work.Status.Nodes {
		part := node.Name + "=" + string(node.Result)
		if node.StartTime != nil && node.Result == v1alpha1.NodePending {
			part += "*"
		}
		if node.Attempts > 0 {
			part += fmt.Sprintf("(%d)", node.Attempts)
		}
		parts = append(parts, part)
	}
	s := work.Status
	reason := ""
	if condition := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionComplete); condition != nil {
		reason = string(condition.Status) + "/" + condition.Reason
	}
	return fmt.Sprintf("%s %d+%d of %d %s", strings.Join(parts, " "), s.Succeeded, s.Failed, s.Total, reason)
}

func result(name string, result v1alpha1.NodeResult, attempts int32) v1alpha1.NodeStatus {
	return v1alpha1.NodeStatus{Name: name, Result: result, Attempts: attempts}
}

// TestPlan goes through a work of five nodes, two at a time.
func TestPlan(t *testing.T) {
	work := someWork(v1alpha1.Cordon, "")
	step := func(reason, want string) {
		t.Helper()
		if got := state(work); got != want {
			t.Fatalf("%s:\n got %s\nwant %s", reason, got, want)
		}
	}
	begin(work, []string{"a", "b", "c", "d", "e"}, noon)
	step("the first two have their turn", "a=Pending* b=Pending* c=Pending d=Pending e=Pending 0+0 of 5 False/InProgress")

	begin(work, []string{"other"}, noon)
	refuse(work, refusal{tooManyNodes, "no"}, noon)
	step("what has begun neither begins nor is refused again", "a=Pending* b=Pending* c=Pending d=Pending e=Pending 0+0 of 5 False/InProgress")

	slow := work.Status.Nodes[1]
	slow.Attempts = 3
	fold(work, []v1alpha1.NodeStatus{result("a", v1alpha1.NodeSucceeded, 1), slow}, noon.Add(time.Minute))
	step("one is slow and keeps its turn", "a=Succeeded(1) b=Pending*(3) c=Pending* d=Pending e=Pending 1+0 of 5 False/InProgress")
	if got := work.Status.Nodes[1].StartTime.Time; !got.Equal(noon) {
		t.Errorf("the slow node's time begins at %v, want %v", got, noon)
	}
	if got := work.Status.Nodes[2].StartTime.Time; !got.Equal(noon.Add(time.Minute)) {
		t.Errorf("the next node's time begins at %v", got)
	}

	fold(work, []v1alpha1.NodeStatus{result("a", v1alpha1.NodeFailed, 9), result("x", v1alpha1.NodeFailed, 9)}, noon)
	step("a result stays, and a node that was not picked has none", "a=Succeeded(1) b=Pending*(3) c=Pending* d=Pending e=Pending 1+0 of 5 False/InProgress")

	fold(work, []v1alpha1.NodeStatus{result("b", v1alpha1.NodeFailed, 7), result("c", v1alpha1.NodeSucceeded, 0)}, noon)
	step("the last two", "a=Succeeded(1) b=Failed(7) c=Succeeded d=Pending* e=Pending* 2+1 of 5 False/InProgress")
	if work.Status.CompletionTime != nil {
		t.Error("it is not complete yet")
	}

	end := noon.Add(time.Hour)
	fold(work, []v1alpha1.NodeStatus{result("d", v1alpha1.NodeSucceeded, 1), result("e", v1alpha1.NodeSucceeded, 1)}, end)
	step("complete", "a=Succeeded(1) b=Failed(7) c=Succeeded d=Succeeded(1) e=Succeeded(1) 4+1 of 5 True/Failed")
	if !work.Status.StartTime.Time.Equal(noon) || !work.Status.CompletionTime.Time.Equal(end) || !isComplete(work) || len(wave(work)) > 0 {
		t.Errorf("from %v to %v, complete %v, %d to do", work.Status.StartTime, work.Status.CompletionTime, isComplete(work), len(wave(work)))
	}
}

func TestPlanEnds(t *testing.T) {
	for _, test := range []struct {
		reason string
		do     func(*v1alpha1.NodeMaintenance)
		want   string
	}{
		{"no node", func(w *v1alpha1.NodeMaintenance) { begin(w, nil, noon) }, " 0+0 of 0 True/NoNodes"},
		{"too many", func(w *v1alpha1.NodeMaintenance) { refuse(w, refusal{tooManyNodes, "no"}, noon) }, " 0+0 of 0 True/TooManyNodes"},
		{"all of them well", func(w *v1alpha1.NodeMaintenance) {
			begin(w, []string{"a"}, noon)
			fold(w, []v1alpha1.NodeStatus{result("a", v1alpha1.NodeSucceeded, 0)}, noon)
		}, "a=Succeeded 1+0 of 1 True/Succeeded"},
		{"one of them not", func(w *v1alpha1.NodeMaintenance) {
			begin(w, []string{"a"}, noon)
			fold(w, []v1alpha1.NodeStatus{result("a", v1alpha1.NodeFailed, 1)}, noon)
		}, "a=Failed(1) 0+1 of 1 True/Failed"},
		{"somebody made up the counts", func(w *v1alpha1.NodeMaintenance) {
			begin(w, []string{"a"}, noon)
			w.Status.Total, w.Status.Succeeded = 7, 5
			fold(w, []v1alpha1.NodeStatus{result("a", v1alpha1.NodeSucceeded, 0)}, noon)
		}, "a=Succeeded 1+0 of 1 True/Succeeded"},
		{"somebody took the nodes away", func(w *v1alpha1.NodeMaintenance) {
			begin(w, []string{"a"}, noon)
			w.Status.Nodes = nil
			fold(w, nil, noon)
		}, " 0+0 of 0 True/NoNodes"},
	} {
		work := someWork(v1alpha1.Cordon, "")
		test.do(work)
		if got := state(work); got != test.want {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
		if work.Status.StartTime == nil || work.Status.CompletionTime == nil {
			t.Errorf("%s: from %v to %v", test.reason, work.Status.StartTime, work.Status.CompletionTime)
		}
		ready := meta.IsStatusConditionTrue(work.Status.Conditions, v1alpha1.ConditionReady)
		if stalled := meta.IsStatusConditionTrue(work.Status.Conditions, v1alpha1.ConditionStalled); stalled == ready || !isTold(work) {
			t.Errorf("%s: ready is %v, stalled is %v, told is %v", test.reason, ready, stalled, isTold(work))
		}
		meta.RemoveStatusCondition(&work.Status.Conditions, v1alpha1.ConditionReady)
		meta.RemoveStatusCondition(&work.Status.Conditions, v1alpha1.ConditionStalled)
		if isTold(work) {
			t.Errorf("%s: told without the conditions", test.reason)
		}
	}
}
