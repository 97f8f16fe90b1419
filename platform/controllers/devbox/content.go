package devbox

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
	"coapply.dev/platform/controllers/setup"
)

// SetupContent adds the reconciler that owns a Devbox's status.contentID. It applies nothing,
// and so has no condition.
func SetupContent(_ ctrl.Manager, options setup.Options) error {
	return coapply.For(options.Runtime, fieldmanagers.DevboxContent, emitContent).
		Named("devbox-content").
		DependsOn(contentDependsOn...).
		Status(contentStatus).
		Complete()
}

// contentDependsOn are the fields of the status that contentOf reads.
var contentDependsOn = []func(*v1alpha1.Devbox) any{
	func(box *v1alpha1.Devbox) any { return box.Status.ContentID },
	func(box *v1alpha1.Devbox) any { return box.Status.LastContentID },
	func(box *v1alpha1.Devbox) any { return box.Status.Phase },
	func(box *v1alpha1.Devbox) any {
		if last := box.Status.LastContainerStatus; last != nil {
			return last.ContainerID
		}
		return ""
	},
}

// emitContent returns no intents.
func emitContent(*v1alpha1.Devbox) ([]apply.Intent, error) {
	return nil, nil
}

// contentStatus sets the content by the Devbox that is written to, which after a stale write is
// another version than the one read.
func contentStatus(context.Context, *v1alpha1.Devbox, reconciler.Applied) (reconciler.Report[*v1alpha1.Devbox], error) {
	return reconciler.Report[*v1alpha1.Devbox]{Change: func(box *v1alpha1.Devbox) error {
		box.Status.ContentID = contentOf(box)
		return nil
	}}, nil
}
