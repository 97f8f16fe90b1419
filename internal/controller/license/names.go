package license

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const (
	// Label is on a User's Namespace; its value is the phase of the License.
	Label = "platform.coapply.dev/license"
	// LimitsAnnotation is on a User's Namespace; its value is the limits that hold now, sorted
	// by name, as in "cpu=4,memory=8Gi".
	LimitsAnnotation = "platform.coapply.dev/limits"
	// Quota is the name of the ResourceQuota.
	Quota = "license"
	// Finalizer keeps a License until its fields of the Namespace and its quota are gone.
	Finalizer = "platform.coapply.dev/license"

	kind = "License"
)

// text returns limits as text, independent of their order and spelling.
func text(limits corev1.ResourceList) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		quantity := limits[name]
		parts = append(parts, string(name)+"="+quantity.String())
	}
	return strings.Join(parts, ",")
}
