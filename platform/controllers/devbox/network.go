package devbox

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
	"coapply.dev/platform/controllers/setup"
)

// SetupNetwork adds the network reconciler to a manager. This reconciler owns the Service of a Devbox and status.network.
func SetupNetwork(mgr ctrl.Manager, options setup.Options) error {
	return coapply.For(options.Runtime, fieldmanagers.DevboxNetwork, emitNetwork).
		Named("devbox-network").
		Owns(&corev1.Service{}).
		Belongs(isDevboxes).
		Status(network{mgr.GetClient(), mgr.GetAPIReader()}.status).
		Complete()
}

type network struct {
	client client.Client
	live   client.Reader
}

// status returns a Report that sets the condition NetworkApplied and writes the type and the node port of the Service
// into status.network. If spec.network.type is None but the Service exists, Report.Then deletes the Service after the
// status write. The deletion event starts another reconcile, which sets status.network.type to None.
func (n network) status(ctx context.Context, box *v1alpha1.Devbox, applied reconciler.Applied) (reconciler.Report[*v1alpha1.Devbox], error) {
	condition := reconciler.Condition(v1alpha1.ConditionNetworkApplied, box.Generation, applied)
	var service corev1.Service
	err := n.client.Get(ctx, client.ObjectKeyFromObject(box), &service)
	if client.IgnoreNotFound(err) != nil {
		return reconciler.Report[*v1alpha1.Devbox]{}, err
	}
	var report reconciler.Report[*v1alpha1.Devbox]
	var reached *v1alpha1.DevboxNetworkStatus
	none := box.Spec.Network.Type == v1alpha1.NetworkNone
	switch ours := err == nil && metav1.IsControlledBy(&service, box); {
	case ours:
		reached = networkStatus(&service)
	case none:
		reached = &v1alpha1.DevboxNetworkStatus{Type: v1alpha1.NetworkNone}
	}
	if none && reached.Type != v1alpha1.NetworkNone {
		condition.Status, condition.Reason = metav1.ConditionUnknown, "Deleting"
		condition.Message = "waiting for the deletion of the Service"
		report.Then = func(ctx context.Context) error { return n.remove(ctx, box, &service) }
	}
	report.Change = func(box *v1alpha1.Devbox) error {
		box.Status.Network = reached.DeepCopy()
		meta.SetStatusCondition(&box.Status.Conditions, condition)
		return nil
	}
	return report, nil
}

// remove deletes the Service, unless the Service or the Devbox has changed since they were read. If another client
// has changed the Service (its owner reference, for example), the next reconcile decides again whether to delete the
// Service. If the spec of the Devbox has changed, the Devbox may need the Service again.
func (n network) remove(ctx context.Context, box *v1alpha1.Devbox, service *corev1.Service) error {
	var now v1alpha1.Devbox // stays empty if the Devbox no longer exists
	if err := n.live.Get(ctx, client.ObjectKeyFromObject(box), &now); client.IgnoreNotFound(err) != nil {
		return err
	}
	if now.UID != box.UID || now.Generation != box.Generation || service.DeletionTimestamp != nil {
		return nil
	}
	_, err := setup.DeleteAsRead(ctx, n.client, n.live, service)
	return err
}

func networkStatus(service *corev1.Service) *v1alpha1.DevboxNetworkStatus {
	status := &v1alpha1.DevboxNetworkStatus{Type: v1alpha1.NetworkType(service.Spec.Type)}
	for _, port := range service.Spec.Ports {
		if port.Name == ContainerName {
			status.NodePort = port.NodePort
		}
	}
	return status
}

// emitNetwork returns the intent of the Devbox's Service. It returns no intent if spec.network.type
// is None. The intent sets no node port, so that the API server chooses the port.
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
