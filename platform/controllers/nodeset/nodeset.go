// Package nodeset reconciles a NodeSet: as many slurmd pods as it has replicas,
// NAME-0 to NAME-(N-1).
//
// # Why it is right under parallel reconciles, a stale cache and a restart
//
//  1. Nothing is counted to decide what to create. Each pod has a name that follows
//     from its ordinal, and is applied under that name: two reconciles that both
//     miss it make one pod. There is no state but the cluster's.
//  2. A round begins with decide, a pure function of the NodeSet and its pods as
//     they are in the cache, which shows what this process has written
//     (read-your-writes).
//  3. Before anything is written, the API server is asked: the NodeSet must still have the uid,
//     the generation and the controller's address that were decided upon. So a round that saw 3
//     replicas instead of 5 deletes nothing, and one that saw 5 instead of 3 starts no pod that
//     would have to go again. A round creates, mends and deletes at most batch pods each, and
//     then looks again.
//  4. A delete carries the uid and the resourceVersion of the pod decided upon. A pod that is
//     another one by now, or has become ready, stays until the next decision.
//  5. A late apply cannot change a pod of another revision into one of its own: the revision is
//     in the container's environment, which is immutable, so the server refuses the apply.
//  6. A pod that is being deleted keeps its name. Nothing is applied to it; its deletion event
//     starts the next round.
//
// A round that finds everything as wanted sends nothing.
package nodeset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/setup"
)

// What the reconciler may do, for config/rbac/role.yaml.
//
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=nodesets,verbs=get;list;watch
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=nodesets/status,verbs=update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=nodesets/finalizers,verbs=update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=slurmcontrollers,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const (
	kind = "NodeSet"
	// Label is on every pod of a NodeSet; its value is the NodeSet's name.
	Label = "platform.coapply.dev/nodeset"
	// RevisionLabel is on every pod; its value is the pod's revision.
	RevisionLabel = "platform.coapply.dev/revision"
	// ContainerName is the name of slurmd's container in its pod.
	ContainerName = "slurmd"
)

// podName returns the name of the pod of an ordinal.
func podName(set string, ordinal int) string { return set + "-" + strconv.Itoa(ordinal) }

// parsePodName returns the NodeSet and the ordinal in a pod's name. ok is false for other
// names, such as a-01.
func parsePodName(name string) (set string, ordinal int, ok bool) {
	dash := strings.LastIndexByte(name, '-')
	if dash < 1 {
		return "", 0, false
	}
	set = name[:dash]
	ordinal, err := strconv.Atoi(name[dash+1:])
	return set, ordinal, err == nil && ordinal >= 0 && podName(set, ordinal) == name
}

// isNodeSets reports whether a pod belongs to the NodeSet in its name.
func isNodeSets(object client.Object) bool {
	return setup.Belongs(object, kind, setNamed(object).Name, Label)
}

// isOurs reports whether a pod is controlled by this NodeSet. A pod of a NodeSet that had the
// name before is not ours: the garbage collector is about to delete it.
func isOurs(set *v1alpha1.NodeSet, pod *corev1.Pod) bool {
	return metav1.IsControlledBy(pod, set) || setup.Orphaned(pod, Label, set.Name)
}

func selector(set *v1alpha1.NodeSet) map[string]string {
	return map[string]string{Label: set.Name}
}

// replicas returns how many pods a NodeSet wants; the API server's default is 1.
func replicas(set *v1alpha1.NodeSet) int { return int(ptr.Deref(set.Spec.Replicas, 1)) }

// isAsWanted reports whether those fields of a pod of the revision that can change are as
// podIntent sets them.
func isAsWanted(set *v1alpha1.NodeSet, pod *corev1.Pod, revision string) bool {
	for name, value := range labels(set, revision) {
		if pod.Labels[name] != value {
			return false
		}
	}
	return metav1.IsControlledBy(pod, set) && image(pod) == set.Spec.Image
}

func image(pod *corev1.Pod) string {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == ContainerName {
			return pod.Spec.Containers[i].Image
		}
	}
	return ""
}

// podIntent returns the intent for the pod of an ordinal.
func podIntent(set *v1alpha1.NodeSet, ordinal int) apply.Intent {
	return apply.Intent{Config: corev1ac.Pod(podName(set.Name, ordinal), set.Namespace).
		WithLabels(labels(set, revision(set))).
		WithOwnerReferences(setup.OwnedBy(kind, set)).
		WithSpec(podSpec(set, revision(set)))}
}

func labels(set *v1alpha1.NodeSet, revision string) map[string]string {
	return map[string]string{
		Label:                          set.Name,
		RevisionLabel:                  revision,
		"app.kubernetes.io/name":       ContainerName,
		"app.kubernetes.io/managed-by": "coapply",
	}
}

// podSpec returns the spec of a pod. The revision is in the environment, which nobody can
// change: see the package comment.
func podSpec(set *v1alpha1.NodeSet, revision string) *corev1ac.PodSpecApplyConfiguration {
	c := corev1ac.Container().
		WithName(ContainerName).
		WithImage(set.Spec.Image).
		WithEnv(corev1ac.EnvVar().WithName("COAPPLY_REVISION").WithValue(revision)).
		WithResources(setup.ResourceRequirements(set.Spec.Resources))
	if host, port, err := net.SplitHostPort(set.Status.ControllerAddress); err == nil {
		c.WithEnv(
			corev1ac.EnvVar().WithName("SLURM_CONTROLLER_HOST").WithValue(host),
			corev1ac.EnvVar().WithName("SLURM_CONTROLLER_PORT").WithValue(port))
	}
	return corev1ac.PodSpec().WithAutomountServiceAccountToken(false).WithContainers(c)
}

// revision returns the revision of the pods: a hash of their spec.
func revision(set *v1alpha1.NodeSet) string {
	spec, err := json.Marshal(podSpec(set, ""))
	if err != nil {
		panic(err) // strings, a bool and quantities
	}
	sum := sha256.Sum256(spec)
	return hex.EncodeToString(sum[:5])
}
