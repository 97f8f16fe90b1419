package nodeset

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func sample(change ...func(*v1alpha1.NodeSet)) *v1alpha1.NodeSet {
	set := &v1alpha1.NodeSet{
		ObjectMeta: metav1.ObjectMeta{Name: "compute", Namespace: "team", UID: "0000-1"},
		Spec:       v1alpha1.NodeSetSpec{Replicas: new(int32(3)), Image: "registry.example.com/slurmd:25.11", MaxUnavailable: 1},
	}
	for _, c := range change {
		c(set)
	}
	return set
}

func scaled(n int32) func(*v1alpha1.NodeSet) {
	return func(set *v1alpha1.NodeSet) { set.Spec.Replicas = &n }
}

func unavailable(n int32) func(*v1alpha1.NodeSet) {
	return func(set *v1alpha1.NodeSet) { set.Spec.MaxUnavailable = n }
}

// pod of sample, an hour old, ready and as wanted but for what is changed.
func pod(ordinal int, change ...func(*corev1.Pod)) corev1.Pod {
	set := sample()
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: podName(set.Name, ordinal), Labels: labels(set, revision(set)),
			ManagedFields:     []metav1.ManagedFieldsEntry{{Manager: fieldmanagers.NodeSet, Operation: metav1.ManagedFieldsOperationApply}},
			CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: kind, Name: set.Name, UID: set.UID, Controller: new(true),
			}},
		},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: ContainerName, Image: set.Spec.Image}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	for _, c := range change {
		c(&p)
	}
	return p
}

func pods(n int, change ...func(*corev1.Pod)) (all []corev1.Pod) {
	for ordinal := range n {
		all = append(all, pod(ordinal, change...))
	}
	return all
}

func old(p *corev1.Pod)         { p.Labels[RevisionLabel] = "old" }
func idle(p *corev1.Pod)        { p.Status.Conditions = nil }
func terminating(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(now)) }
func failed(p *corev1.Pod)      { p.Status.Phase = corev1.PodFailed; idle(p) }
func young(p *corev1.Pod)       { p.CreationTimestamp = metav1.NewTime(now.Add(-4 * time.Second)) }
func orphan(p *corev1.Pod)      { p.OwnerReferences = nil }
func former(p *corev1.Pod)      { p.OwnerReferences[0].UID = "0000-0" }
func foreign(p *corev1.Pod) {
	p.OwnerReferences[0].Kind, p.OwnerReferences[0].Name, p.OwnerReferences[0].UID = "StatefulSet", "compute", "0000-2"
}
func unlabelled(p *corev1.Pod) { delete(p.Labels, Label) }
func planted(p *corev1.Pod)    { p.OwnerReferences, p.ManagedFields = nil, nil } // by somebody who knows our labels
func otherImage(p *corev1.Pod) { p.Spec.Containers[0].Image = "registry.example.com/slurmd:mine" }

func (d *decision) String() string {
	var removed []string
	for _, p := range d.remove {
		removed = append(removed, strings.TrimPrefix(p.Name, "compute-"))
	}
	text := fmt.Sprintf("create%v remove%v", d.create, removed)
	if len(d.mend) > 0 {
		text += fmt.Sprintf(" mend%v", d.mend)
	}
	if len(d.foreign) > 0 {
		text += fmt.Sprintf(" foreign%v", d.foreign)
	}
	if d.after > 0 {
		text += " after " + d.after.String()
	}
	if d.more {
		text += " more"
	}
	return text + fmt.Sprintf(" replicas=%d ready=%d updated=%d complete=%t", d.replicas, d.ready, d.updated, d.complete)
}

func TestDecide(t *testing.T) {
	for _, test := range []struct {
		reason string
		set    *v1alpha1.NodeSet
		pods   []corev1.Pod
		want   string
	}{
		{"as wanted", sample(), pods(3), "create[] remove[] replicas=3 ready=3 updated=3 complete=true"},
		{"none wanted, none there", sample(scaled(0)), nil, "create[] remove[] replicas=0 ready=0 updated=0 complete=true"},
		{"new", sample(), nil, "create[0 1 2] remove[] replicas=0 ready=0 updated=0 complete=false"},
		{"scaled out", sample(scaled(5)), pods(3), "create[3 4] remove[] replicas=3 ready=3 updated=3 complete=false"},
		{"scaled in", sample(scaled(1)), pods(3), "create[] remove[2 1] replicas=3 ready=3 updated=3 complete=true"},
		{"one was deleted", sample(), []corev1.Pod{pod(0), pod(2)}, "create[1] remove[] replicas=2 ready=2 updated=2 complete=false"},
		{"deleted pods keep their names", sample(scaled(2)), []corev1.Pod{pod(0, terminating), pod(1), pod(2, terminating)},
			"create[] remove[] replicas=1 ready=1 updated=1 complete=false"},
		{"a finished one", sample(), []corev1.Pod{pod(0, failed), pod(1), pod(2)}, "create[] remove[0] replicas=2 ready=2 updated=2 complete=false"},
		{"one that failed at once", sample(), []corev1.Pod{pod(0, failed, young), pod(1), pod(2)},
			"create[] remove[] after 6s replicas=2 ready=2 updated=2 complete=false"},
		{"what can change has changed", sample(), []corev1.Pod{pod(0, unlabelled), pod(1, orphan), pod(2, otherImage)},
			"create[] remove[] mend[0 1 2] replicas=3 ready=3 updated=3 complete=true"},
		{"nobody's, and not labelled", sample(), []corev1.Pod{pod(0, unlabelled, orphan), pod(1), pod(2)},
			"create[] remove[] foreign[compute-0] replicas=2 ready=2 updated=2 complete=false"},
		{"nobody's, and not made by us", sample(), []corev1.Pod{pod(0, planted), pod(1), pod(2)},
			"create[] remove[] foreign[compute-0] replicas=2 ready=2 updated=2 complete=false"},
		{"someone else's in the way, the rest goes on", sample(), []corev1.Pod{pod(0, foreign)},
			"create[1 2] remove[] foreign[compute-0] replicas=0 ready=0 updated=0 complete=false"},
		{"a NodeSet's of that name before", sample(), []corev1.Pod{pod(0, former), pod(1), pod(2)},
			"create[] remove[] foreign[compute-0] replicas=2 ready=2 updated=2 complete=false"},
		{"surplus that is not ours", sample(scaled(0)), []corev1.Pod{pod(0, foreign), pod(1, former), pod(2, unlabelled, orphan), pod(3, orphan)},
			"create[] remove[3] replicas=1 ready=1 updated=1 complete=true"},
		{"names that only look like ours", sample(scaled(0)), []corev1.Pod{
			pod(0, func(p *corev1.Pod) { p.Name = "compute-00" }), pod(0, func(p *corev1.Pod) { p.Name = "compute-a" }),
			pod(0, func(p *corev1.Pod) { p.Name = "compute--1" }), pod(0, func(p *corev1.Pod) { p.Name = "compute" }),
			pod(0, func(p *corev1.Pod) { p.Name = "compute-x-1" }),
		}, "create[] remove[] replicas=0 ready=0 updated=0 complete=true"},
		{"those that cannot be mended hold up none that is missing", sample(scaled(102)), pods(101, otherImage),
			fmt.Sprintf("create[101] remove[] mend%v more replicas=101 ready=101 updated=101 complete=false", ordinals(100))},
		{"more than a batch", sample(scaled(101)), nil,
			fmt.Sprintf("create%v remove[] more replicas=0 ready=0 updated=0 complete=false", ordinals(100))},

		{"an update takes the highest", sample(), pods(3, old), "create[] remove[2] replicas=3 ready=3 updated=0 complete=false"},
		{"two at a time", sample(unavailable(2)), pods(3, old), "create[] remove[2 1] replicas=3 ready=3 updated=0 complete=false"},
		{"more than there are", sample(unavailable(9)), pods(3, old), "create[] remove[2 1 0] replicas=3 ready=3 updated=0 complete=false"},
		{"it waits for the one that goes", sample(), []corev1.Pod{pod(0, old), pod(1, old), pod(2, old, terminating)},
			"create[] remove[] replicas=2 ready=2 updated=0 complete=false"},
		{"and for the one that comes", sample(), []corev1.Pod{pod(0, old), pod(1, old)},
			"create[2] remove[] replicas=2 ready=2 updated=0 complete=false"},
		{"until it is ready", sample(), []corev1.Pod{pod(0, old), pod(1, old), pod(2, idle)},
			"create[] remove[] replicas=3 ready=2 updated=1 complete=false"},
		{"then the next", sample(), []corev1.Pod{pod(0, old), pod(1, old), pod(2)}, "create[] remove[1] replicas=3 ready=3 updated=1 complete=false"},
		{"one that is not ready first", sample(), []corev1.Pod{pod(0, old), pod(1, old, idle), pod(2, old)},
			"create[] remove[1] replicas=3 ready=2 updated=0 complete=false"},
		{"none that is ready beside it", sample(unavailable(2)), []corev1.Pod{pod(0, old, idle), pod(1, old, idle), pod(2, old)},
			"create[] remove[1 0] replicas=3 ready=1 updated=0 complete=false"},
		{"not all at once, though none is ready", sample(), pods(3, old, idle), "create[] remove[2] replicas=3 ready=0 updated=0 complete=false"},
		{"scaled in and updated", sample(scaled(2)), pods(4, old), "create[] remove[3 2 1] replicas=4 ready=4 updated=0 complete=false"},
		{"someone else's name does not hold it up", sample(), []corev1.Pod{pod(0, old), pod(1, old), pod(2, foreign)},
			"create[] remove[1] foreign[compute-2] replicas=2 ready=2 updated=0 complete=false"},
		{"the controller is waited for", sample(func(s *v1alpha1.NodeSet) { s.Spec.ControllerName = "slurm" }), append(pods(2, old), pod(3)),
			"create[] remove[3] replicas=3 ready=3 updated=0 complete=false"},
	} {
		before := test.set.DeepCopy()
		if got := decide(test.set, test.pods, now).String(); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.reason, got, test.want)
		}
		if *before.Spec.Replicas != *test.set.Spec.Replicas {
			t.Errorf("%s: the NodeSet was changed", test.reason)
		}
	}
}

func ordinals(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}
