package devbox

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/setup"
)

// emitNetwork returns the Service, unless the type is None. The server chooses the node port.
func emitNetwork(box *v1alpha1.Devbox) ([]apply.Intent, error) {
	if box.Spec.Network.Type == v1alpha1.NetworkNone {
		return nil, nil
	}
	service := corev1ac.Service(box.Name, box.Namespace).
		WithLabels(labels(box)).
		WithOwnerReferences(setup.OwnedBy(kind, box)).
		WithSpec(corev1ac.ServiceSpec().
			WithType(corev1.ServiceType(box.Spec.Network.Type)).
			WithSelector(selector(box)).
			WithPorts(corev1ac.ServicePort().
				WithName(ContainerName).
				WithProtocol(corev1.ProtocolTCP).
				WithPort(box.Spec.Network.Port).
				WithTargetPort(intstr.FromInt32(box.Spec.Network.Port))))
	return []apply.Intent{{Config: service}}, nil
}
