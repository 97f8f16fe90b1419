package devbox

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
)

// emitNetwork wants the Service. The node port is the server's to choose.
func emitNetwork(box *v1alpha1.Devbox) (reconciler.Emission, error) {
	service := corev1ac.Service(box.Name, box.Namespace).
		WithLabels(labels(box)).
		WithOwnerReferences(ownedBy(box)).
		WithSpec(corev1ac.ServiceSpec().
			WithType(corev1.ServiceType(box.Spec.Network.Type)).
			WithSelector(selector(box)).
			WithPorts(corev1ac.ServicePort().
				WithName(ContainerName).
				WithProtocol(corev1.ProtocolTCP).
				WithPort(box.Spec.Network.Port).
				WithTargetPort(intstr.FromInt32(box.Spec.Network.Port))))
	return reconciler.Emission{Intents: []apply.Intent{{Config: service}}}, nil
}
