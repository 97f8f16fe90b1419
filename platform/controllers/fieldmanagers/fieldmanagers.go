// Package fieldmanagers is the contract of the platform: every field manager and what it may
// own, with a file for each kind. A test of each kind emits every intent and proves that the
// manager claims what it emits and nothing else (applytest.Owns). Check, which cmd/manager
// calls before it starts, refuses two managers that claim one field.
//
// make generate writes what follows from it: config/contract.yaml and the kinds of the
// admission policies.
package fieldmanagers

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/fieldowners/contract"
	"coapply.dev/platform/api/v1alpha1"
)

// Prefix begins all names of ours. config/admission reserves them by it.
const Prefix = "coapply-"

// The field managers. A name is for ever: a renamed manager leaves its fields behind under the
// old name.
const (
	DevboxWorkload  = "coapply-devbox-workload"
	DevboxPower     = "coapply-devbox-power"
	DevboxNetwork   = "coapply-devbox-network"
	DevboxContent   = "coapply-devbox-content"
	User            = "coapply-user"
	License         = "coapply-license"
	NodeMaintenance = "coapply-node-maintenance"
	SlurmController = "coapply-slurm-controller"
	NodeSet         = "coapply-nodeset"
)

// All returns the contract of the platform.
func All() contract.Contract {
	return slices.Concat(devbox, license, nodeMaintenance, slurm, user)
}

// Contract returns the claims of one manager.
func Contract(manager string) contract.Contract { return All().Of(manager) }

// Check returns an error for a contract that cannot be kept, or with a name that is not ours.
func Check(c contract.Contract) error {
	errs := []error{contract.Check(c)}
	for _, manager := range c.Managers() {
		if !strings.HasPrefix(manager, Prefix) || manager == Prefix {
			errs = append(errs, fmt.Errorf("%q does not begin with %s, the prefix that config/admission reserves", manager, Prefix))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("field managers: %w", err)
	}
	return nil
}

// The kinds of Kubernetes to which the platform writes.
var (
	deployment     = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	statefulSet    = schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
	roleBinding    = schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}
	namespace      = schema.GroupKind{Kind: "Namespace"}
	node           = schema.GroupKind{Kind: "Node"}
	pod            = schema.GroupKind{Kind: "Pod"}
	resourceQuota  = schema.GroupKind{Kind: "ResourceQuota"}
	service        = schema.GroupKind{Kind: "Service"}
	serviceAccount = schema.GroupKind{Kind: "ServiceAccount"}
)

// ours returns a kind of the platform.
func ours(kind string) schema.GroupKind {
	return schema.GroupKind{Group: v1alpha1.SchemeGroupVersion.Group, Kind: kind}
}

// shared returns a Claim.Shared with one reason for several paths.
func shared(why string, paths ...string) map[string]string {
	reasons := map[string]string{}
	for _, path := range paths {
		reasons[path] = why
	}
	return reasons
}
