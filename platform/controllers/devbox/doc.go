// Package devbox reconciles a Devbox with four reconcilers, each under its own field manager:
// workload, power, network and content. Each has its intent, a pure function of the Devbox, in
// NAME_intent.go, and its wiring in NAME.go; content emits no object, and its pure function is
// in content_id.go.
//
//	content   which content the Devbox starts from
//	workload  the Deployment but its replicas; the pods' end; the finalizer
//	power     the Deployment's replicas
//	network   the Service
//
// A pod keeps our finalizer until its container's last status is in the Devbox's status,
// together with the content on which it ran.
//
// The Deployment is made, and changed to a new image, only once there is a content of the
// image. After that a new content replaces the pod.
//
// The workload reconciler creates the Deployment without replicas, as it does not own them, and
// the API server then writes 1. So the Deployment is made when the Devbox is to run for the
// first time: a Devbox that is created Stopped has no Deployment, and no pod.
package devbox
