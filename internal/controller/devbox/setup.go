package devbox

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"coapply.dev"
	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/apply/update"
	"coapply.dev/internal/controller/setup"
)

const kind = "Devbox"

// writers makes the two ways to write under one field manager.
func writers(mgr ctrl.Manager, fieldManager string, policy apply.Policy, options setup.Options) (*apply.Applier, *update.Updater, error) {
	return setup.Writers(mgr, setup.Writer{FieldManager: fieldManager, Policy: policy}, options)
}

// isDevboxes tells whether an object is that of the Devbox of its name.
func isDevboxes(_ *v1alpha1.Devbox, object client.Object) bool {
	name := object.GetName()
	return setup.ControlledBy(object, kind, name) || setup.Orphaned(object, Label, name)
}

// belongsTo tells whether the Devbox controls an object.
func belongsTo(object metav1.Object, box *v1alpha1.Devbox) bool {
	return metav1.IsControlledBy(object, box)
}

// worthReconciling lets a Devbox's spec, content and pause through, and that something of
// a field manager's was taken, and what else is named.
func worthReconciling(fieldManager string, fields ...func(*v1alpha1.Devbox) any) predicate.Predicate {
	content := func(box *v1alpha1.Devbox) any { return box.Status.ContentID }
	return coapply.Relevant(fieldManager, append(fields, content)...)
}
