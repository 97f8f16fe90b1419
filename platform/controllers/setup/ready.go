package setup

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/platform/api/v1alpha1"
)

// Ready returns the condition Ready of an object that is ready exactly if another condition is
// True. If it is not ready, the reason and message are those of that condition; otherwise they
// are the given ones.
func Ready(of metav1.Condition, reason, message string) metav1.Condition {
	ready := of
	ready.Type = v1alpha1.ConditionReady
	if of.Status == metav1.ConditionTrue {
		ready.Reason, ready.Message = reason, message
	} else {
		ready.Status = metav1.ConditionFalse
	}
	return ready
}
