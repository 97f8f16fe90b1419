// Package fieldmanagers is the platform's contract of field ownership: a list of all field managers of the platform, with the fields that
// each field manager may own. For each kind a test checks that the platform's apply configurations set exactly these fields
// (applytest.Owns). At its start, cmd/manager calls Check, which fails if two field managers may own the same field.
//
// make generate derives config/contract.yaml and the list of kinds in the admission policies from this contract.
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

// Prefix is the prefix of the names of the platform's field managers. The admission policies in
// config/admission prevent other clients from writing under a field manager with this prefix.
const Prefix = "coapply-"

// The names of the platform's field managers. Do not change a name: on existing objects, the fields would stay owned by the old name.
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

// All returns the contract of the platform: all claims of all field managers.
func All() contract.Contract {
	return slices.Concat(devbox, license, nodeMaintenance, slurm, user)
}

// Check returns an error if two managers claim the same field, or if a manager's name does not begin with Prefix.
func Check(c contract.Contract) error {
	errs := []error{contract.Check(c)}
	for _, manager := range c.Managers() {
		if !strings.HasPrefix(manager, Prefix) || manager == Prefix {
			errs = append(errs, fmt.Errorf("field manager %q: the name must begin with %s, the prefix that config/admission reserves", manager, Prefix))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("checking the contract of the field managers: %w", err)
	}
	return nil
}

// Kinds of the Kubernetes objects that the platform writes.
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

// ours returns the GroupKind of one of the platform's own kinds, such as Devbox.
func ours(kind string) schema.GroupKind {
	return schema.GroupKind{Group: v1alpha1.SchemeGroupVersion.Group, Kind: kind}
}

// shared returns a value for Claim.Shared, which permits other field managers to claim the given paths. The value maps
// each path to the same reason.
func shared(why string, paths ...string) map[string]string {
	reasons := map[string]string{}
	for _, path := range paths {
		reasons[path] = why
	}
	return reasons
}

var ownService = shared("each reconciler writes only to Services of its own objects", ".metadata", ".spec")

var serviceFields = []string{
	".metadata.labels",
	".metadata.ownerReferences",
	".spec.type",
	".spec.selector",
	".spec.ports",
}

// devbox lists the fields that the four Devbox reconcilers own. These reconcilers write only to Deployments and
// Services that belong to a Devbox (see setup.Belongs).
var devbox = contract.Contract{
	{Manager: DevboxWorkload, Kind: deployment, Applies: []string{
		".metadata.labels",
		".metadata.ownerReferences",
		".spec.selector",
		".spec.strategy",
		".spec.template.metadata.labels",
		`.spec.template.metadata.annotations["platform.coapply.dev/content-id"]`,
		".spec.template.metadata.finalizers",
		".spec.template.spec.automountServiceAccountToken",
		`.spec.template.spec.containers[name="devbox"].name`,
		`.spec.template.spec.containers[name="devbox"].image`,
		`.spec.template.spec.containers[name="devbox"].ports`,
		`.spec.template.spec.containers[name="devbox"].resources`,
	}},
	{Manager: DevboxPower, Kind: deployment, Applies: []string{".spec.replicas"}},
	{Manager: DevboxNetwork, Kind: service, Applies: serviceFields, Shared: ownService},

	{Manager: DevboxWorkload, Kind: ours("Devbox"), Updates: []string{
		`.metadata.finalizers[="platform.coapply.dev/devbox-workload"]`,
		".status.observedGeneration",
		".status.phase",
		".status.lastContainerStatus",
		".status.lastContentID",
		`.status.conditions[type="WorkloadApplied"]`,
		`.status.conditions[type="Ready"]`,
	}},
	{Manager: DevboxPower, Kind: ours("Devbox"), Updates: []string{
		`.status.conditions[type="PowerApplied"]`,
		`.status.conditions[type="Contended"]`,
	}},
	{Manager: DevboxNetwork, Kind: ours("Devbox"), Updates: []string{
		".status.network",
		`.status.conditions[type="NetworkApplied"]`,
	}},
	{Manager: DevboxContent, Kind: ours("Devbox"), Updates: []string{".status.contentID"}},
	// Pods get this finalizer from the pod template; the workload reconciler removes it from ended pods.
	{Manager: DevboxWorkload, Kind: pod, Updates: []string{
		`.metadata.finalizers[="platform.coapply.dev/record-status"]`,
	}},
}

// license lists the fields of the License reconciler. The User reconciler owns other fields of the same Namespace: see the variable user.
var license = contract.Contract{
	{Manager: License, Kind: namespace, Applies: []string{
		`.metadata.labels["platform.coapply.dev/license"]`,
		`.metadata.annotations["platform.coapply.dev/limits"]`,
	}},
	{Manager: License, Kind: resourceQuota, Applies: []string{
		".metadata.labels",
		".metadata.ownerReferences",
		".spec.hard",
		".spec.scopeSelector",
	}},

	{Manager: License, Kind: ours("License"), Updates: []string{
		`.metadata.finalizers[="platform.coapply.dev/license"]`,
		".status.observedGeneration",
		".status.phase",
		".status.limits",
		".status.namespace",
		`.status.conditions[type="Applied"]`,
		`.status.conditions[type="Ready"]`,
		`.status.conditions[type="Contended"]`,
	}},
}

// nodeMarks are the fields of a Node that the NodeMaintenance reconciler sets. Depending on
// spec.strategy it sets them by Server-Side Apply or by get-modify-update.
var nodeMarks = []string{
	".spec.unschedulable",
	`.metadata.annotations["platform.coapply.dev/maintenance"]`,
	`.metadata.annotations["platform.coapply.dev/maintenance-reason"]`,
}

var nodeMaintenance = contract.Contract{
	{Manager: NodeMaintenance, Kind: node, Applies: nodeMarks, Updates: nodeMarks},
	{Manager: NodeMaintenance, Kind: ours("NodeMaintenance"), Updates: []string{
		".status.observedGeneration",
		".status.nodes",
		".status.total",
		".status.succeeded",
		".status.failed",
		".status.startTime",
		".status.completionTime",
		`.status.conditions[type="Complete"]`,
		`.status.conditions[type="Ready"]`,
		`.status.conditions[type="Stalled"]`,
	}},
}

var slurm = contract.Contract{
	{Manager: SlurmController, Kind: statefulSet, Applies: []string{
		".metadata.labels",
		".metadata.ownerReferences",
		".spec.replicas",
		".spec.serviceName",
		".spec.podManagementPolicy",
		".spec.selector",
		".spec.template.metadata.labels",
		".spec.template.spec.automountServiceAccountToken",
		`.spec.template.spec.containers[name="slurmctld"].name`,
		`.spec.template.spec.containers[name="slurmctld"].image`,
		`.spec.template.spec.containers[name="slurmctld"].ports`,
		`.spec.template.spec.containers[name="slurmctld"].resources`,
	}},
	{Manager: SlurmController, Kind: service, Applies: serviceFields, Shared: ownService},
	{Manager: SlurmController, Kind: ours("SlurmController"), Updates: []string{
		".status.observedGeneration",
		".status.serviceName",
		`.status.conditions[type="Applied"]`,
		`.status.conditions[type="Ready"]`,
	}},

	{Manager: NodeSet, Kind: pod, Applies: []string{
		".metadata.labels",
		".metadata.ownerReferences",
		".spec.automountServiceAccountToken",
		`.spec.containers[name="slurmd"].name`,
		`.spec.containers[name="slurmd"].image`,
		`.spec.containers[name="slurmd"].env`,
		`.spec.containers[name="slurmd"].resources`,
	}},
	{Manager: NodeSet, Kind: ours("NodeSet"), Updates: []string{
		".status.observedGeneration",
		".status.replicas",
		".status.readyReplicas",
		".status.updatedReplicas",
		".status.revision",
		".status.selector",
		`.status.conditions[type="Applied"]`,
		`.status.conditions[type="Ready"]`,
	}},
}

// user lists the fields of the User reconciler. The License reconciler owns other fields of the same Namespace: see the variable license.
var user = contract.Contract{
	{Manager: User, Kind: namespace, Applies: []string{
		`.metadata.labels["platform.coapply.dev/owner"]`,
		`.metadata.labels["app.kubernetes.io/managed-by"]`,
		`.metadata.labels["pod-security.kubernetes.io/enforce"]`,
		`.metadata.annotations["platform.coapply.dev/display-name"]`,
		".metadata.ownerReferences",
	}},
	{Manager: User, Kind: serviceAccount, Applies: []string{
		".metadata.labels",
		".metadata.ownerReferences",
		".automountServiceAccountToken",
	}},
	{Manager: User, Kind: roleBinding, Applies: []string{
		".metadata.labels",
		".metadata.ownerReferences",
		".roleRef",
		".subjects",
	}},

	{Manager: User, Kind: ours("User"), Updates: []string{
		".status.observedGeneration",
		".status.namespace",
		".status.auditLog",
		`.status.conditions[type="Applied"]`,
		`.status.conditions[type="Ready"]`,
		`.status.conditions[type="Contended"]`,
	}},
}
