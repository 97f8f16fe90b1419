// Package controller lists the reconcilers that cmd/manager can run.
package controller

import (
	ctrl "sigs.k8s.io/controller-runtime"

	"coapply.dev/internal/controller/devbox"
)

// Controller is one reconciler.
type Controller struct {
	Name        string // as --controllers names it
	Description string // one line for --help
	Setup       func(ctrl.Manager, devbox.Options) error
}

// All lists the reconcilers in the order in which they are set up.
func All() []Controller {
	return []Controller{
		{"devbox-workload", "Deployment of a Devbox, its pods' end, phase and lastContainerStatus", devbox.SetupWorkload},
		{"devbox-power", "replicas of a Devbox's Deployment, from spec.state", devbox.SetupPower},
		{"devbox-network", "Service of a Devbox, status.network", devbox.SetupNetwork},
	}
}
