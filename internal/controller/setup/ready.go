package setup

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/api/v1alpha1"
)

// Ready is the condition of an object that is ready when another condition of it is True,
// and is not ready for the same reason otherwise. If it is ready the reason is another one.
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
