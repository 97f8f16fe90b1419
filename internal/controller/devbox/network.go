package devbox

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/internal/controller/fieldmanagers"
)

// SetupNetwork adds the reconciler that owns a Devbox's Service and
// status.network.
func SetupNetwork(mgr ctrl.Manager, options Options) error {
	applier, updater, err := writers(mgr, fieldmanagers.DevboxNetwork, apply.OnConflict(apply.Reject), options.Metrics)
	if err != nil {
		return err
	}
	controller := ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Devbox{}, builder.WithPredicates(worthReconciling())).
		Owns(&corev1.Service{})
	return complete(controller, "devbox-network", reconciler.Config[*v1alpha1.Devbox]{
		Client:  mgr.GetClient(),
		Applier: applier,
		Updater: updater,
		Emit:    emitNetwork,
		Status:  network{mgr.GetClient()}.status,
		Events:  mgr.GetEventRecorder(fieldmanagers.DevboxNetwork),
	})
}

type network struct{ client client.Reader }

func (n network) status(ctx context.Context, box *v1alpha1.Devbox, applied reconciler.Applied) (reconciler.Report[*v1alpha1.Devbox], error) {
	condition := reconciler.Condition(v1alpha1.ConditionNetworkApplied, box.Generation, applied)
	var service corev1.Service
	err := n.client.Get(ctx, client.ObjectKeyFromObject(box), &service)
	if client.IgnoreNotFound(err) != nil {
		return reconciler.Report[*v1alpha1.Devbox]{}, err
	}
	var reached *v1alpha1.DevboxNetworkStatus
	if err == nil && belongsTo(&service, box) {
		reached = networkStatus(&service)
	}
	return reconciler.Report[*v1alpha1.Devbox]{Change: func(box *v1alpha1.Devbox) error {
		box.Status.Network = reached.DeepCopy()
		meta.SetStatusCondition(&box.Status.Conditions, condition)
		return nil
	}}, nil
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
