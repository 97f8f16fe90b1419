package nodeset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/setup"
)

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
