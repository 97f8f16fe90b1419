// Package setup has what the wiring of all reconcilers shares: options, the Runtime, the cache,
// adoption and conditions.
package setup

import (
	ctrl "sigs.k8s.io/controller-runtime"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/contention"
	"coapply.dev/internal/controller/fieldmanagers"
)

// Options are common to all reconcilers.
type Options struct {
	// Runtime is from NewRuntime; all reconcilers of a process write by it.
	Runtime *coapply.Runtime
	// Replicas decides what happens when someone else, a person with kubectl scale
	// or an autoscaler, owns the replicas of a Devbox's Deployment.
	Replicas apply.Decision
}

// NewRuntime returns the Runtime by which the reconcilers write: each takes back its own fields
// after a wipe, and asks the State before it forces. With a nil State fights are not detected,
// and no force is stopped.
func NewRuntime(mgr ctrl.Manager, state *contention.State, options ...coapply.Option) (*coapply.Runtime, error) {
	return coapply.New(mgr, append(options, coapply.WithContention(state), coapply.WithContracts(fieldmanagers.Contract))...)
}
