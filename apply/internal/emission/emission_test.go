package emission

import (
	"strings"
	"testing"

	autoscalingv1ac "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
)

func TestDifference(t *testing.T) {
	pod := func(images ...string) apply.Intent {
		spec := corev1ac.PodSpec()
		for _, image := range images {
			spec.WithContainers(corev1ac.Container().WithName(image[:1]).WithImage(image))
		}
		return apply.Intent{Config: corev1ac.Pod("web", "shop").WithSpec(spec)}
	}
	page := func(data map[string]string) apply.Intent {
		return apply.Intent{Config: corev1ac.ConfigMap("page", "shop").WithData(data)}
	}
	scaled := func(replicas int32) apply.Intent {
		return apply.Intent{Config: corev1ac.ReplicationController("web", "shop"), Subresource: "scale",
			Body: autoscalingv1ac.Scale().WithSpec(autoscalingv1ac.ScaleSpec().WithReplicas(replicas))}
	}
	type intents = []apply.Intent
	for _, test := range []struct {
		reason        string
		first, second intents
		want          string // the beginning; "" for no difference
	}{
		{"nothing", nil, nil, ""},
		{"equal", intents{pod("a:1")}, intents{pod("a:1")}, ""},
		{"the intents in another order", intents{pod("a:1"), page(nil)}, intents{page(nil), pod("a:1")}, ""},
		{"what cannot be read", intents{{}}, nil, ""},
		{"an object more", nil, intents{pod()}, "one of two calls of Emit for the same parent returned an intent for Pod shop/web, and the other did not"},
		{"an object less", intents{pod()}, nil, "one of two calls of Emit for the same parent returned an intent for Pod shop/web, and the other did not"},
		{"a value of a map", intents{page(map[string]string{"a.b/c": "1"})}, intents{page(map[string]string{"a.b/c": "2"})},
			`two calls of Emit for the same parent returned different values of .data["a.b/c"] in ConfigMap shop/page`},
		{"a key of a map", intents{page(map[string]string{"a": "1"})}, intents{page(map[string]string{"b": "1"})},
			"two calls of Emit for the same parent returned different values of .data.a in"},
		{"an item of a list", intents{pod("a:1", "b:1")}, intents{pod("a:1", "b:2")},
			"two calls of Emit for the same parent returned different values of .spec.containers in Pod shop/web"},
		{"the number of items", intents{pod("a:1")}, intents{pod("a:1", "b:1")}, "two calls of Emit for the same parent returned different values of .spec.containers in"},
		{"the order of items", intents{pod("a:1", "b:1")}, intents{pod("b:1", "a:1")},
			"two calls of Emit for the same parent returned different values of .spec.containers in Pod shop/web"},
		{"the body of a subresource", intents{scaled(1)}, intents{scaled(2)},
			"two calls of Emit for the same parent returned different values of .spec.replicas in ReplicationController shop/web (scale)"},
	} {
		got := Difference(test.first, test.second)
		if (got == "") != (test.want == "") || !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
		if strings.Contains(got, "a:1") {
			t.Errorf("%s: the text has a value: %s", test.reason, got)
		}
	}
}
