// Package nodeset contains the reconciler of NodeSets. For each replica of a NodeSet it keeps one pod that runs
// slurmd. The pods of a NodeSet with N replicas are called NAME-0 to NAME-(N-1).
//
// # Why concurrent reconciles, a stale cache and a restart do no harm
//
//  1. The reconciler keeps no state outside the cluster.
//  2. The name of a pod contains its ordinal, and pods are applied by name. Two reconciles that both find the
//     same pod missing create only one pod.
//  3. A reconcile computes its writes from the cache. The cache includes earlier applies of this process.
//  4. Before the first write, the reconcile reads the NodeSet live. Nothing is written if the uid, the generation
//     or the address of slurmctld differs from the cache.
//  5. A reconcile creates at most 100 pods, corrects at most 100 pods, and deletes at most 100 pods. The next
//     reconcile does the rest.
//  6. A delete carries the uid and the resourceVersion of the cached pod. A pod that has changed is not deleted,
//     and the next reconcile computes its writes again.
//  7. An apply cannot change a pod of another revision. The revision is in the container's environment, which is
//     immutable, so the API server rejects the apply.
//  8. Nothing is applied to a pod that is being deleted. Its deletion event starts the next reconcile.
//
// A reconcile that finds the desired state sends no request.
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

// RBAC rules of the reconciler, for config/rbac/role.yaml.
//
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=nodesets,verbs=get;list;watch
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=nodesets/status,verbs=update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=nodesets/finalizers,verbs=update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=slurmcontrollers,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const (
	kind = "NodeSet"
	// Label is a label on every pod of a NodeSet; its value is the NodeSet's name.
	Label = "platform.coapply.dev/nodeset"
	// RevisionLabel is a label on every pod of a NodeSet; its value is a hash of the pod spec.
	RevisionLabel = "platform.coapply.dev/revision"
	// ContainerName is the name of slurmd's container in its pod.
	ContainerName = "slurmd"
)

// podName returns the name of a pod, given the name of its NodeSet and its ordinal.
func podName(set string, ordinal int) string { return set + "-" + strconv.Itoa(ordinal) }

// parsePodName splits the name of a pod into the NodeSet's name and the ordinal. ok is false for a
// name that podName never returns, such as a-01.
func parsePodName(name string) (set string, ordinal int, ok bool) {
	dash := strings.LastIndexByte(name, '-')
	if dash < 1 {
		return "", 0, false
	}
	set = name[:dash]
	ordinal, err := strconv.Atoi(name[dash+1:])
	return set, ordinal, err == nil && ordinal >= 0 && podName(set, ordinal) == name
}

// isNodeSets reports whether the pod is called NAME-NUMBER and belongs to a NodeSet that is called NAME.
func isNodeSets(object client.Object) bool {
	return setup.Belongs(object, kind, setNamed(object).Name, Label)
}

// isOurs reports whether a pod belongs to this NodeSet. It returns false for a pod of a deleted
// NodeSet with the same name: the garbage collector is about to delete the pod.
func isOurs(set *v1alpha1.NodeSet, pod *corev1.Pod) bool {
	return metav1.IsControlledBy(pod, set) || setup.Orphaned(pod, Label, set.Name)
}

func selector(set *v1alpha1.NodeSet) map[string]string {
	return map[string]string{Label: set.Name}
}

// replicas returns the desired number of pods of a NodeSet. The default is 1, as in the CRD.
func replicas(set *v1alpha1.NodeSet) int { return int(ptr.Deref(set.Spec.Replicas, 1)) }

// isAsWanted reports whether a pod of the current revision needs no apply: its mutable fields have the values that podIntent sets.
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

// podIntent returns the intent of the NodeSet's pod with this ordinal.
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

// podSpec returns the spec of a pod. The revision is in an environment variable. Environment variables are immutable,
// so an apply cannot change a pod of another revision.
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

// revision returns the current revision of a NodeSet's pods: a hash of the pod spec.
func revision(set *v1alpha1.NodeSet) string {
	spec, err := json.Marshal(podSpec(set, ""))
	if err != nil {
		panic(err) // impossible: the spec has only strings, a bool and quantities
	}
	sum := sha256.Sum256(spec)
	return hex.EncodeToString(sum[:5])
}
