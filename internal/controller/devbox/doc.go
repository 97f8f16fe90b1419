// Package devbox reconciles a Devbox with three reconcilers, each under its own
// field manager: workload, power and network. Each has its intent, a pure function
// of the Devbox, in NAME_intent.go, and its wiring in NAME.go.
//
//	workload  the Deployment but its replicas; the pods' end; the finalizer
//	power     the Deployment's replicas
//	network   the Service
//
// A pod keeps our finalizer until its container's last status stands in the
// Devbox's status.
//
// The workload reconciler creates the Deployment without replicas, as it does not
// own them, and the API server then writes 1. A Devbox that is created Stopped has
// a pod for the moment until the power reconciler sees the Deployment.
package devbox
