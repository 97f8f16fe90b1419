// Package nodeset reconciles a NodeSet: it keeps one slurmd pod for each replica, NAME-0 to
// NAME-(N-1).
//
// # Why parallel reconciles, a stale cache and a restart do no harm
//
//  1. The reconciler does not create pods by their number. Each pod is applied under a name that
//     contains its ordinal, so two reconciles that both find a pod missing create only one pod.
//     All state is in the cluster.
//  2. A reconcile first calls decide, a pure function of the cached NodeSet and its cached pods.
//     The cache includes the writes of this process (read-your-writes).
//  3. Before the first write, the reconcile reads the NodeSet live. If its uid, its generation or
//     the controller's address differs from the decision's input, nothing is written. So a
//     reconcile that read 3 replicas instead of 5 deletes no pod, and a reconcile that read 5
//     instead of 3 creates no surplus pod. A reconcile creates, corrects and deletes at most batch
//     pods each; the next reconcile decides again.
//  4. A delete carries the uid and the resourceVersion of the pod that was decided upon. If the
//     pod has changed since, such as by becoming ready, it stays until the next decision.
//  5. A late apply cannot change a pod of another revision: the revision is in the container's
//     environment, which is immutable, so the API server rejects the apply.
//  6. A pod that is being deleted keeps its name. Nothing is applied to it; its deletion event
//     starts the next reconcile.
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
	// RevisionLabel is a label on every pod of a NodeSet; its value is the pod's revision.
	RevisionLabel = "platform.coapply.dev/revision"
	// ContainerName is the name of slurmd's container in its pod.
	ContainerName = "slurmd"
)

// podName returns the name of the pod with this ordinal of the NodeSet called set.
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

// isNodeSets reports whether a pod belongs to the NodeSet that its name NAME-NUMBER names.
func isNodeSets(object client.Object) bool {
	return setup.Belongs(object, kind, setNamed(object).Name, Label)
}

// isOurs reports whether a pod belongs to this NodeSet. A pod of a deleted NodeSet with the same
// name does not belong to it: the garbage collector is about to delete the pod.
func isOurs(set *v1alpha1.NodeSet, pod *corev1.Pod) bool {
	return metav1.IsControlledBy(pod, set) || setup.Orphaned(pod, Label, set.Name)
}

func selector(set *v1alpha1.NodeSet) map[string]string {
	return map[string]string{Label: set.Name}
}

// replicas returns the desired number of pods of a NodeSet. The default is 1, as in the CRD.
func replicas(set *v1alpha1.NodeSet) int { return int(ptr.Deref(set.Spec.Replicas, 1)) }

// isAsWanted reports whether the mutable fields of a pod have the values that podIntent sets. The
// pod must have the current revision.
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

// podIntent returns the intent of a NodeSet's pod with this ordinal.
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

// podSpec returns the spec of a pod. The revision is in an environment variable, because these are
// immutable: see the package comment.
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
