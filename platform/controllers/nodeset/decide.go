package nodeset

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/setup"
)

const (
	// batch is how many pods a round creates, mends and deletes at most each, before it looks
	// again whether that is still wanted.
	batch = 100
	// finishedRest is how old a finished pod must be to be replaced, so that a pod that fails
	// at once is not made anew all the time.
	finishedRest = 10 * time.Second
)

// decision is what is to be done for a NodeSet and its pods.
type decision struct {
	create  []int         // ordinals whose pod is missing
	mend    []int         // ordinals whose pod exists and is not as wanted
	remove  []*corev1.Pod // in this order
	foreign []string      // wanted names that are someone else's
	waiting bool          // for the SlurmController: nothing is created or replaced
	more    bool          // more than a batch is to be created or mended
	after   time.Duration // until a finished pod may be replaced; 0 for never

	revision                 string
	replicas, ready, updated int32 // for the status
	old                      int   // wanted pods of an old revision
	complete                 bool  // every wanted pod is ready and of the revision
}

func (d *decision) idle() bool { return len(d.create)+len(d.mend)+len(d.remove) == 0 }

// wanted counts and sorts the pods that a NodeSet wants.
type wanted struct {
	inWork            int // how many are absent, being deleted, or of the revision and not ready
	oldReady, oldIdle []*corev1.Pod
}

// decide returns what to do if the cache is up to date. It is pure. pods are all pods with a
// name of the NodeSet, whoever owns them.
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

// removeSurplus adds to remove the pods beyond the last that is wanted, the highest first.
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

// sort goes through the wanted ordinals, and decides on all but the pods of an old
// revision.
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

// replace adds to remove pods of an old revision: those that are not ready first, and then the
// highest. At most maxUnavailable are replaced at a time; a ready pod goes only if no more than
// maxUnavailable are then missing or not ready, so a revision that never becomes ready stops
// there. Names that are someone else's do not count.
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
