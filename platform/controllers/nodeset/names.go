package nodeset

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/setup"
)

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
