package steady

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestSteadyEmptyStrategy: an empty strategy is the API server's default, which the server restores at each apply. The
// default of a StatefulSet depends on a feature gate, so the intent of a StatefulSet is sent each time.
func TestSteadyEmptyStrategy(t *testing.T) {
	t.Parallel()
	const template = `selector: {matchLabels: {app: odd}}, template: {metadata: {labels: {app: odd}}, spec: {containers: [{name: c, image: registry.example.com/c}]}}`
	for kind, field := range map[schema.GroupVersionKind]string{
		kindOf[appsv1.Deployment](appsv1.SchemeGroupVersion):  "strategy",
		kindOf[appsv1.DaemonSet](appsv1.SchemeGroupVersion):   "updateStrategy",
		kindOf[appsv1.StatefulSet](appsv1.SchemeGroupVersion): "updateStrategy",
	} {
		s := newBuiltinStage(t, kind)
		intent := "spec: {" + field + ": {}, " + template + "}"
		s.first(intent)
		if kind.Kind == "StatefulSet" {
			s.costs("the exception", 1, intent)
			continue
		}
		s.costs("second: "+kind.Kind, 0, intent)
		s.other(`{"metadata":{"annotations":{"a":"b"}}}`)
		s.costs("after another writer: "+kind.Kind, 0, intent)
		s.other(`{"spec":{"` + field + `":{"rollingUpdate":null,"type":"` + map[bool]string{true: "Recreate", false: "OnDelete"}[kind.Kind == "Deployment"] + `"}}}`)
		s.costs("another type, of another owner: "+kind.Kind, 0, intent)
	}
}
