package devbox

import "coapply.dev/apply"

// Options are common to the reconcilers of a Devbox.
type Options struct {
	// Metrics may be nil.
	Metrics apply.Metrics
	// Replicas decides what happens when someone else, a person with kubectl scale
	// or an autoscaler, owns the replicas of a Devbox's Deployment.
	Replicas apply.Decision
}
