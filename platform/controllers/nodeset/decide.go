package nodeset

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/setup"
)

const (
	// batch is the largest number of pods that one reconcile creates, the largest number that it
	// corrects, and the largest number that it deletes. The next reconcile decides again.
	batch = 100
	// finishedRest is the minimum age of a finished pod before it is replaced, so that a pod that
	// always fails at once is not recreated in a tight loop.
	finishedRest = 10 * time.Second
)

// decision lists the writes to the pods of a NodeSet that are needed now, and has counts for the status.
type decision struct {
	create  []int         // ordinals whose pod is missing
	mend    []int         // ordinals whose pod has wrong mutable fields, to be applied again
	remove  []*corev1.Pod // pods to delete, in this order
	foreign []string      // desired pod names that a pod of another owner has
	waiting bool          // the SlurmController has no address yet, so no pod is created or replaced
	more    bool          // create or mend had more than batch ordinals and was cut
	after   time.Duration // time until a finished pod may be replaced; 0 for never

	revision                 string
	replicas, ready, updated int32 // counts of pods for the status
	old                      int   // number of desired pods of an old revision
	complete                 bool  // every desired pod is ready and has the current revision
}

func (d *decision) idle() bool { return len(d.create)+len(d.mend)+len(d.remove) == 0 }

// wanted is the input of replace: the number of unavailable desired pods, and the pods that have an old revision.
type wanted struct {
	inWork            int // pods that are missing, finished, being deleted, or current and not ready
	oldReady, oldIdle []*corev1.Pod
}

// decide returns the decision for a NodeSet and its pods, as read from the cache. It is a pure
// function. pods has all pods with a name NAME-NUMBER for this NodeSet, including pods of other owners.
func decide(set *v1alpha1.NodeSet, pods []corev1.Pod, now time.Time) *decision {
	d := &decision{waiting: set.Spec.ControllerName != "" && set.Status.ControllerAddress == ""}
	if !d.waiting {
		d.revision = revision(set)
	}
	byOrdinal := map[int]*corev1.Pod{}
	for i := range pods {
		if of, ordinal, ok := parsePodName(pods[i].Name); ok && of == set.Name {
			byOrdinal[ordinal] = &pods[i]
			d.count(set, &pods[i])
		}
	}
	d.removeSurplus(set, byOrdinal)
	if !d.waiting {
		d.replace(set, d.sort(set, byOrdinal, now))
	}
	d.more = max(len(d.create), len(d.mend)) > batch
	d.create = d.create[:min(len(d.create), batch)]
	d.mend = d.mend[:min(len(d.mend), batch)]
	d.remove = d.remove[:min(len(d.remove), batch)]
	return d
}

func (d *decision) count(set *v1alpha1.NodeSet, pod *corev1.Pod) {
	if !isOurs(set, pod) || pod.DeletionTimestamp != nil || setup.PodFinished(pod) {
		return
	}
	d.replicas++
	if setup.PodReady(pod) {
		d.ready++
	}
	if pod.Labels[RevisionLabel] == d.revision {
		d.updated++
	}
}

// removeSurplus adds to d.remove the pods whose ordinal is spec.replicas or higher, the highest first.
func (d *decision) removeSurplus(set *v1alpha1.NodeSet, byOrdinal map[int]*corev1.Pod) {
	var surplus []int
	for ordinal, pod := range byOrdinal {
		if ordinal >= replicas(set) && isOurs(set, pod) && pod.DeletionTimestamp == nil {
			surplus = append(surplus, ordinal)
		}
	}
	slices.Sort(surplus)
	for _, ordinal := range slices.Backward(surplus) {
		d.remove = append(d.remove, byOrdinal[ordinal])
	}
}

// sort adds to the decision what the pods of the desired ordinals need, except pods of an old
// revision, which it returns in w for replace.
func (d *decision) sort(set *v1alpha1.NodeSet, byOrdinal map[int]*corev1.Pod, now time.Time) (w wanted) {
	ready := 0
	for ordinal := range replicas(set) {
		pod := byOrdinal[ordinal]
		switch {
		case pod == nil:
			d.create = append(d.create, ordinal)
			w.inWork++
		case !isOurs(set, pod):
			d.foreign = append(d.foreign, pod.Name)
		case pod.DeletionTimestamp != nil:
			w.inWork++
		case setup.PodFinished(pod):
			d.replaceFinished(pod, now)
			w.inWork++
		case pod.Labels[RevisionLabel] != d.revision && setup.PodReady(pod):
			w.oldReady = append(w.oldReady, pod)
		case pod.Labels[RevisionLabel] != d.revision:
			w.oldIdle = append(w.oldIdle, pod)
		default:
			if !isAsWanted(set, pod, d.revision) {
				d.mend = append(d.mend, ordinal)
			}
			if setup.PodReady(pod) {
				ready++
			} else {
				w.inWork++
			}
		}
	}
	d.complete = ready == replicas(set)
	return w
}

func (d *decision) replaceFinished(pod *corev1.Pod, now time.Time) {
	rest := finishedRest - now.Sub(pod.CreationTimestamp.Time)
	switch {
	case rest <= 0:
		d.remove = append(d.remove, pod)
	case d.after == 0 || rest < d.after:
		d.after = rest
	}
}

// replace adds pods of an old revision to d.remove: first pods that are not ready, then ready pods,
// the highest ordinals first. At most maxUnavailable pods are replaced at a time. A ready pod is
// removed only if then at most maxUnavailable pods are missing or not ready. So the replacement
// stops if the new revision never becomes ready. Pods of other owners do not count.
func (d *decision) replace(set *v1alpha1.NodeSet, w wanted) {
	slices.Reverse(w.oldIdle)
	slices.Reverse(w.oldReady)
	d.old = len(w.oldIdle) + len(w.oldReady)
	mayGo := int(set.Spec.MaxUnavailable) - w.inWork
	d.remove = append(d.remove, first(mayGo, w.oldIdle)...)
	d.remove = append(d.remove, first(mayGo-len(w.oldIdle), w.oldReady)...)
}

func first(n int, pods []*corev1.Pod) []*corev1.Pod {
	return pods[:min(max(n, 0), len(pods))]
}
