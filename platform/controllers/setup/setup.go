// Package setup has what the wiring of all reconcilers shares: options, the Runtime, the cache,
// adoption and conditions.
package setup

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/breaker"
	"coapply.dev/apply/reconciler"
)

// Options are common to all reconcilers.
type Options struct {
	// Runtime is from NewRuntime; all reconcilers of a process write by it.
	Runtime *coapply.Runtime
	// Replicas decides what happens when someone else, a person with kubectl scale
	// or an autoscaler, owns the replicas of a Devbox's Deployment.
	Replicas apply.Decision
}

// NewRuntime returns the Runtime by which the reconcilers write. Each reconciler asks the Breaker
// before it forces a field. A nil Breaker stops no force.
func NewRuntime(mgr ctrl.Manager, forces *breaker.Breaker, options ...coapply.Option) (*coapply.Runtime, error) {
	if forces != nil {
		options = append(options, coapply.WithBreaker(forces))
	}
	return coapply.New(mgr, options...)
}

// SetContended sets the condition Contended of a parent while the Breaker stops a force of its
// applies, and to False afterwards. A parent that was never contended gets no such condition.
func SetContended(conditions *[]metav1.Condition, generation int64, applied reconciler.Applied) {
	contended := breaker.Condition(generation, applied.Errs)
	if contended.Status == metav1.ConditionTrue || meta.FindStatusCondition(*conditions, contended.Type) != nil {
		meta.SetStatusCondition(conditions, contended)
	}
}
