package license

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const (
	// Label on a User's Namespace: the phase of the License.
	Label = "platform.coapply.dev/license"
	// LimitsAnnotation on a User's Namespace: the limits that hold now, sorted by name, as
	// in "cpu=4,memory=8Gi".
	LimitsAnnotation = "platform.coapply.dev/limits"
	// Quota is the name of the ResourceQuota.
	Quota = "license"
	// Finalizer of a License: its fields of the Namespace and its quota go first.
	Finalizer = "platform.coapply.dev/license"

	kind = "License"
)

// text returns limits as text that does not depend on their order and spelling.
func text(limits corev1.ResourceList) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		quantity := limits[name]
		parts = append(parts, string(name)+"="+quantity.String())
	}
	return strings.Join(parts, ",")
}
