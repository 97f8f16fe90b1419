// Package controllers lists the reconcilers that cmd/manager can run.
package controllers

import (
	ctrl "sigs.k8s.io/controller-runtime"

	"coapply.dev/platform/controllers/devbox"
	"coapply.dev/platform/controllers/license"
	"coapply.dev/platform/controllers/nodemaintenance"
	"coapply.dev/platform/controllers/nodeset"
	"coapply.dev/platform/controllers/setup"
	"coapply.dev/platform/controllers/slurmcontroller"
	"coapply.dev/platform/controllers/user"
)

// Controller describes a reconciler that cmd/manager can run.
type Controller struct {
	Name        string                                  // the name that the flag --controllers accepts
	Description string                                  // the objects and fields that the reconciler writes, for --help
	Setup       func(ctrl.Manager, setup.Options) error // adds the reconciler to a manager
}

// All returns the reconcilers in the order in which they are set up.
func All() []Controller {
	return []Controller{
		{"devbox-workload", "Deployment of a Devbox, finalizer of its pods, status.phase and status.lastContainerStatus", devbox.SetupWorkload},
		{"devbox-power", "replicas of a Devbox's Deployment, from spec.state", devbox.SetupPower},
		{"devbox-network", "Service of a Devbox, status.network", devbox.SetupNetwork},
		{"devbox-content", "content that a Devbox starts from, status.contentID", devbox.SetupContent},
		{"slurmcontroller", "StatefulSet and Service of a SlurmController, and its status", slurmcontroller.Setup},
		{"nodemaintenance", "cordon and uncordon of nodes, a few at a time", nodemaintenance.Setup},
		{"user", "Namespace of a User with its ServiceAccount and RoleBinding, status.auditLog", user.Setup},
		{"license", "status and ResourceQuota of a License, a label and an annotation of the User's Namespace", license.Setup},
		{"nodeset", "pods of a NodeSet, and its status", nodeset.Setup},
	}
}
