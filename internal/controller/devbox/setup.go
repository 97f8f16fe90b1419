package devbox

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/internal/controller/setup"
)

const kind = "Devbox"

// isDevboxes reports whether an object belongs to the Devbox of its name.
func isDevboxes(_ *v1alpha1.Devbox, object client.Object) bool {
	return setup.Belongs(object, kind, object.GetName(), Label)
}

// belongsTo reports whether the Devbox controls an object.
func belongsTo(object metav1.Object, box *v1alpha1.Devbox) bool {
	return metav1.IsControlledBy(object, box)
}

// dependsOn is what of its status a Devbox emits from, the content, and what else is named.
func dependsOn(fields ...func(*v1alpha1.Devbox) any) []func(*v1alpha1.Devbox) any {
	return append(slices.Clip(fields), func(box *v1alpha1.Devbox) any { return box.Status.ContentID })
}
