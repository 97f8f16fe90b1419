package nodeset

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/setup"
)

const (
	// batch limits one reconcile: it creates at most this number of pods, corrects at most this
	// number, and deletes at most this number. The next reconcile does the rest.
	batch = 100
	// finishedRest is the age that a finished pod must have before it is replaced. Without this
	// limit, a pod that always fails at once would be recreated in a tight loop.
	finishedRest = 10 * time.Second
)

// decision is the result of decide: the writes to a NodeSet's pods that are needed now, and the counts for the status.
type decision struct {
	create  []int         // ordinals of the pods to create
	mend    []int         // ordinals of the pods to apply again, because mutable fields have wrong values
	remove  []*corev1.Pod // pods to delete, in this order
	foreign []string      // names that the NodeSet needs, but that pods of other owners have
	waiting bool          // the address of slurmctld is not known yet, so no pod is created or replaced
	more    bool          // create or mend was truncated to the maximum of one reconcile (batch)
	after   time.Duration // time until the next finished pod may be replaced; 0 if there is none to wait for

	revision                 string
	replicas, ready, updated int32 // counts of pods for the status
	old                      int   // number of desired pods of an old revision
	complete                 bool  // every desired pod is ready and has the current revision
}

func (d *decision) idle() bool { return len(d.create)+len(d.mend)+len(d.remove) == 0 }

// wanted describes the pods with the desired ordinals, as the input of replace.
type wanted struct {
	inWork            int           // number of pods that are missing, finished, being deleted, or of the current revision and not ready
	oldReady, oldIdle []*corev1.Pod // pods of an old revision that are ready, or not ready
}

// decide returns the writes that a NodeSet needs, from its pods in the cache. It sends no request.
// pods are all pods whose name is the NodeSet's name and a number, including pods of other owners.
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

// removeSurplus adds every pod whose ordinal is at least spec.replicas to d.remove, starting with the highest ordinal.
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

// sort examines the pods with the desired ordinals and adds the necessary writes to the decision. It adds no writes
// for pods of an old revision. These pods are returned for the method replace.
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

// replace adds pods of an old revision to d.remove: first the pods that are not ready, then ready pods, each by
// descending ordinal. A ready pod is added only if at most maxUnavailable desired pods are then missing or not ready.
// Therefore the replacement stops if the new revision never becomes ready. Pods of other owners are not counted.
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
