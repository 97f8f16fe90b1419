// Package setup is what the wiring of every reconciler shares: its options, and what they
// write by.
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
	// Runtime is NewRuntime's, for all that the reconcilers of a process write.
	Runtime *coapply.Runtime
	// Replicas decides what happens when someone else, a person with kubectl scale
	// or an autoscaler, owns the replicas of a Devbox's Deployment.
	Replicas apply.Decision
	// Contention stops managers of ours that fight about a field from forcing it. If it is
	// nil, no force is stopped, and package fights does not watch.
	Contention *contention.State
}

// NewRuntime returns what the reconcilers write by: each takes back what is its own, and asks
// before it forces.
func NewRuntime(mgr ctrl.Manager, state *contention.State, options ...coapply.Option) (*coapply.Runtime, error) {
	return coapply.New(mgr, append(options, coapply.WithContention(state), coapply.WithContracts(fieldmanagers.Contract))...)
}
